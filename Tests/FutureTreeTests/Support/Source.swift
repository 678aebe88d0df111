import FutureTree
import TestSupport

/// Returns a promise whose handler logs `"<name>: <options>"` and gives the same answer each time.
func source(
  _ log: Recorder, _ name: String = "source", answering answer: CancelRequestResponse<Int> = .continue
) -> Promise<Int> {
  let promise = Promise<Int>()
  promise.onRequestCancel { request in
    log("\(name): \(request.options.text)")
    return answer
  }
  return promise
}
