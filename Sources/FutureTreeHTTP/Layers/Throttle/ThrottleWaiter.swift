import FutureTree

/// A queued request of a throttle, until it is forwarded to the next loader.
final class ThrottleWaiter: Sendable {
  private enum Watch {
    case none
    case timer(FutureTimer)
    /// The request is no longer queued.
    case isOver
  }

  let request: HTTPRequest
  let next: any HTTPLoader
  let promise = Promise<HTTPResponse>()
  private let watch = Locked(Watch.none)

  init(_ request: HTTPRequest, before next: any HTTPLoader) {
    self.request = request
    self.next = next
  }

  /// The host. `nil` for a request that has only a path.
  var host: String? { request.url?.host }

  var deadline: HTTPDeadline? { request[option: RequestDeadline.self] }

  /// Calls `expire` when the deadline of the request passes, unless the request has left the queue before.
  func watchDeadline(_ expire: @escaping @Sendable () -> Void) {
    guard let deadline else { return }
    if case .isOver = watch.value { return }
    let timer = deadline.clock.schedule(after: deadline.remaining, expire)
    let isOver = watch.withLock { watch in
      if case .isOver = watch { return true }
      watch = .timer(timer)
      return false
    }
    if isOver { timer.cancel() }
  }

  /// Registers that the request has left the queue.
  func hasGone() {
    let watch = self.watch.withLock { watch in
      defer { watch = .isOver }
      return watch
    }
    if case .timer(let timer) = watch { timer.cancel() }
  }
}
