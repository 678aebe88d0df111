import FutureTree

/// A timer as a promise. Nothing has to be waited for when it is cancelled, so the handler completes it.
func pause(for duration: Duration) -> Future<Void> {
  let promise = Promise<Void>()
  let timer = SystemClock().schedule(after: duration) { promise.succeed() }
  promise.onRequestCancel { request in
    timer.cancel()
    return .complete(.cancelled(request.reason))
  }
  return promise.future
}
