import FutureTree

/// Returns a timer as a future. A cancelled timer has no work to wait for, so the handler completes the promise.
func pause(for duration: Duration) -> Future<Void> {
  let promise = Promise<Void>()
  let timer = SystemClock().schedule(after: duration) { promise.succeed() }
  promise.onRequestCancel { request in
    timer.cancel()
    return .complete(.cancelled(request.reason))
  }
  return promise.future
}
