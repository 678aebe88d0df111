/// The scheduler that applies the limits, the rate and the priorities. Pure: takes no lock, calls no closure, reads no
/// clock.
///
/// Two queues in a sequence, one for the rate and one for the limit, would invert priorities: a request that leaves the
/// first queue can no longer be overtaken.
///
/// # Invariants
/// 1. An admitted or bypassing request counts in `running` until it has completed.
/// 2. A queued request has no slot and no token. If it leaves before it is admitted, it has cost nothing.
/// 3. No request is admitted while `running` is at least `limit`, during a pause, without a token, or for a full host.
struct ThrottleState<Item> {
  /// The result of an arrival.
  enum Arrival: Equatable {
    case waits(ThrottleQueue<Item>.Ticket)
    case queueIsFull
    /// No token is available before the deadline.
    case isTooLate
  }

  /// The next action.
  enum Step {
    /// Begin this request.
    case begin(Item)
    /// No request can begin until a token is available, after this time.
    case waitForToken(Duration)
    /// No request can begin until a request completes or a limit changes.
    case wait
  }

  var limit: Int
  var isPaused = false
  let queueLimit: Int
  private(set) var running = 0
  private var queue: ThrottleQueue<Item>
  private var bucket: TokenBucket?

  init(limit: Int, perHost: Int?, rate: Throttle.Rate?, queueLimit: Int, aging: Duration?) {
    self.limit = limit
    self.queueLimit = queueLimit
    queue = ThrottleQueue(perHost: perHost, aging: aging)
    bucket = rate.map { TokenBucket($0) }
  }

  /// The number of queued requests.
  var waiting: Int { queue.count }

  /// The queued items, in the order in which they arrived.
  var items: [Item] { queue.items }

  /// Whether the state equals the initial state, except the tokens.
  var isIdle: Bool { running == 0 && waiting == 0 && queue.laneCount == 0 }
}

extension ThrottleState {
  /// Admits a new request if no request is queued and no limit applies. Returns `false` if the request must be queued.
  mutating func beginsAtOnce(_ host: String?, at now: Duration) -> Bool {
    guard waiting == 0, hasRoom, queue.hasRoom(for: host) else { return false }
    bucket?.refill(at: now)
    guard bucket?.hasToken != false else { return false }
    admit(host)
    return true
  }

  /// Queues a new request. `next(at:)` decides whether it begins.
  ///
  /// - Parameter patience: The maximum time that the request can wait. `nil` sets no limit.
  mutating func arrived(
    _ item: Item, host: String?, priority: RequestPriority, patience: Duration?, at now: Duration
  ) -> Arrival {
    bucket?.refill(at: now)
    if let patience, let bucket, bucket.wait > .zero, bucket.wait >= patience { return .isTooLate }
    let ticket = queue.append(item, host: host, level: priority.level, at: now)
    // The queue limit does not apply if a queued request can begin now.
    guard waiting <= queueLimit || (hasRoom && bucket?.hasToken != false && queue.first() != nil) else {
      _ = queue.remove(ticket)
      return .queueIsFull
    }
    return .waits(ticket)
  }

  /// Admits a request that bypasses the queue.
  mutating func passed(_ host: String?, at now: Duration) {
    bucket?.refill(at: now)
    admit(host)
  }

  /// Admits the next request, if one can begin.
  mutating func next(at now: Duration) -> Step {
    guard hasRoom, let ticket = queue.first() else { return .wait }
    bucket?.refill(at: now)
    if let bucket, !bucket.hasToken { return .waitForToken(bucket.wait) }
    let host = queue.host(of: ticket)
    guard let item = queue.remove(ticket) else {
      preconditionFailure("\(#function): the first entry is not in the queue")
    }
    admit(host)
    return .begin(item)
  }

  /// Changes the priority of a request, if it is queued.
  mutating func changed(_ ticket: ThrottleQueue<Item>.Ticket, to priority: RequestPriority) {
    queue.move(ticket, to: priority.level)
  }

  /// Removes a queued request. Returns `nil` if it is not queued.
  mutating func left(_ ticket: ThrottleQueue<Item>.Ticket) -> Item? {
    queue.remove(ticket)
  }

  /// Registers that a request has completed.
  mutating func ended(_ host: String?) {
    running -= 1
    queue.ended(host)
  }

  /// Registers that an admitted request did not begin. Its token is returned.
  mutating func withdrew(_ host: String?) {
    bucket?.putBack()
    ended(host)
  }

  /// Removes all queued requests and fills the bucket. Requests in flight are not affected.
  mutating func reset() -> [Item] {
    bucket?.fill()
    return queue.removeAll()
  }

  private var hasRoom: Bool { !isPaused && running < limit }

  private mutating func admit(_ host: String?) {
    running += 1
    queue.began(host)
    bucket?.take()
  }
}
