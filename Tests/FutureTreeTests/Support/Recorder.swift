import FutureTree

/// A log of strings that any thread may write.
final class Recorder: Sendable {
  private let lines = Locked<[String]>([])

  var entries: [String] { lines.value }
  var count: Int { lines.withLock { $0.count } }

  func callAsFunction(_ line: String) {
    lines.withLock { $0.append(line) }
  }

  /// Writes the line and returns the value, for bodies of one expression.
  func callAsFunction<Value>(_ line: String, passing value: Value) -> Value {
    self(line)
    return value
  }

  func clear() {
    lines.value = []
  }
}

/// A promise whose handler writes `"<name>: <options>"` and gives the same answer each time.
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
