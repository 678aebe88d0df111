import FutureTree

/// A queued request of a throttle, until it is forwarded to the next loader.
final class ThrottleWaiter: Sendable {
  /// What the request holds while it is queued.
  private struct Watch {
    var timer: FutureTimer?
    /// The place of the request of a shared load.
    var place: QueuedRequest?
    /// The request is no longer queued.
    var isOver = false
  }

  let request: HTTPRequest
  let next: any HTTPLoader
  let promise = Promise<HTTPResponse>()
  private let watch = Locked(Watch())

  init(_ request: HTTPRequest, before next: any HTTPLoader) {
    self.request = request
    self.next = next
  }

  var host: String { request.throttledHost }

  var deadline: FutureDeadline? { request.deadline }

  /// Calls `expire` when the deadline of the request passes, unless the request has left the queue before.
  func watchDeadline(_ expire: @escaping @Sendable () -> Void) {
    guard let deadline else { return }
    if watch.withLock({ $0.isOver }) { return }
    let timer = deadline.clock.schedule(after: deadline.remaining, expire)
    let isOver = watch.withLock { watch in
      if !watch.isOver { watch.timer = timer }
      return watch.isOver
    }
    if isOver { timer.cancel() }
  }

  /// Changes the priority of the request in the queue with the priority of its shared load. Other requests have a constant
  /// priority.
  ///
  /// - Parameter priority: The priority with which the request was queued.
  func followPriority(in queue: any PriorityQueue, _ place: AnyObject, queuedAs priority: RequestPriority) {
    guard let callers = request.sharedCallers else { return }
    let place = QueuedRequest(queue: queue, place: place)
    let isOver = watch.withLock { watch in
      if !watch.isOver { watch.place = place }
      return watch.isOver
    }
    guard !isOver else { return }
    callers.add(place, queuedAs: priority)
    if watch.withLock({ $0.isOver }) { callers.remove(place) }
  }

  /// Registers that the request has left the queue.
  func hasGone() {
    let watch = self.watch.withLock { watch in
      let last = watch
      watch = Watch(isOver: true)
      return last
    }
    watch.timer?.cancel()
    if let place = watch.place { request.sharedCallers?.remove(place) }
  }
}

extension HTTPRequest {
  /// The host by which a throttle distinguishes requests. Empty for a request that has only a path.
  var throttledHost: String { url?.host ?? "" }
}
