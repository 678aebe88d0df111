/// Who may begin, as a value: the one scheduler in which places, hosts, rate and priorities meet. Pure: takes no lock, calls
/// nobody, reads no clock.
///
/// Two queues in a row, one for the rate and one for the places, would invert priorities: what the first lets through cannot
/// be overtaken any more.
///
/// # Invariants
/// 1. What was admitted or passed by counts in `running` until it has ended.
/// 2. What waits has no place and no token; what leaves before it is admitted has cost nothing.
/// 3. Nothing is admitted while `running` is `limit` or more, in a pause, without a token, or for a host that is full.
struct ThrottleState<Item> {
  /// What becomes of something that comes.
  enum Arrival: Equatable {
    case waits(ThrottleQueue<Item>.Ticket)
    case queueIsFull
    /// No token can be there in time.
    case isTooLate
  }

  /// What is to be done next.
  enum Step {
    /// This one begins.
    case begin(Item)
    /// Nobody can begin until there is a token, in this time.
    case waitForToken(Duration)
    /// Nobody can begin until something ends or changes.
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

  /// How many wait.
  var waiting: Int { queue.count }

  /// Whether it is as it was at first, but for the tokens.
  var isIdle: Bool { running == 0 && waiting == 0 && queue.laneCount == 0 }
}

extension ThrottleState {
  /// Admits a request if no other request waits, and the limits, the rate and the pause allow it. Returns false if the request
  /// must wait.
  mutating func beginsAtOnce(_ host: String?, at now: Duration) -> Bool {
    guard waiting == 0, hasRoom, queue.hasRoom(for: host) else { return false }
    bucket?.refill(at: now)
    guard bucket?.hasToken != false else { return false }
    admit(host)
    return true
  }

  /// Something comes, and waits at first; whether it may begin is the next step's to say.
  ///
  /// - Parameter patience: how long it can wait; nil for ever.
  mutating func arrived(
    _ item: Item, host: String?, priority: RequestPriority, patience: Duration?, at now: Duration
  ) -> Arrival {
    bucket?.refill(at: now)
    if let patience, let bucket, bucket.wait > .zero, bucket.wait >= patience { return .isTooLate }
    let ticket = queue.append(item, host: host, level: priority.level, at: now)
    // Somebody who can begin now is as good as gone.
    guard waiting <= queueLimit || (hasRoom && bucket?.hasToken != false && queue.first() != nil) else {
      _ = queue.remove(ticket)
      return .queueIsFull
    }
    return .waits(ticket)
  }

  /// Something begins without asking.
  mutating func passed(_ host: String?, at now: Duration) {
    bucket?.refill(at: now)
    admit(host)
  }

  /// Admits the next, if there is one.
  mutating func next(at now: Duration) -> Step {
    guard hasRoom, let ticket = queue.first() else { return .wait }
    bucket?.refill(at: now)
    if let bucket, !bucket.hasToken { return .waitForToken(bucket.wait) }
    let host = queue.host(of: ticket)
    guard let item = queue.remove(ticket) else { preconditionFailure("\(#function): the first does not wait") }
    admit(host)
    return .begin(item)
  }

  /// One that waited has left. Returns nil if it does not wait.
  mutating func left(_ ticket: ThrottleQueue<Item>.Ticket) -> Item? {
    queue.remove(ticket)
  }

  /// Something that ran has ended.
  mutating func ended(_ host: String?) {
    running -= 1
    queue.ended(host)
  }

  /// Something that was admitted did not begin: it gives its token back.
  mutating func withdrew(_ host: String?) {
    bucket?.putBack()
    ended(host)
  }

  /// Sends everybody away who waits, and fills the bucket. What runs goes on.
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
