import FutureTree

/// The queue of requests with a rate, a pause and a bound. Pure: takes no lock, calls no closure, reads no clock.
///
/// Two queues in a sequence, one for the rate and one for the limit, would invert priorities: a request that leaves the
/// first queue can no longer be overtaken.
///
/// # Invariants
/// 1. An admitted or bypassing request counts as running until it has completed.
/// 2. A queued request has no slot and no token. If it leaves before it is admitted, it has cost nothing.
/// 3. No request is admitted while `limit` requests run, during a pause, without a token, for a full host, or for a host that
///    accepts none until later.
/// 4. A host of `serverLimits` is held in the queue if, and only if, its limit allows no request.
struct ThrottleState<Item> {
  /// The result of an arrival.
  enum Arrival {
    case waits(LimitedQueue<Item>.Entry)
    case queueIsFull
    /// No token is available before the deadline.
    case isTooLate
  }

  /// The next action.
  enum Step {
    /// Begin this request.
    case begin(Item)
    /// No request can begin until a token is available, or until a server accepts more, after this time.
    case waitForTime(Duration)
    /// No request can begin until a request completes or a limit changes.
    case wait
  }

  var isPaused = false
  /// The maximum number of queued requests. `Int.max` sets no limit.
  let queueLimit: Int
  private var queue: LimitedQueue<Item>
  private var bucket: TokenBucket?
  /// What servers have announced, by their hosts.
  private var serverLimits: [String: ServerLimit] = [:]
  /// The first end of a server limit.
  private var firstEnd: Duration?
  private static var mostServerLimits: Int { 1000 }

  private struct ServerLimit {
    /// The number of requests that can still begin.
    var allowed: Int
    /// The instant of the reset.
    let end: Duration
  }

  init(
    limit: Int, perHost: Int?, rate: Throttle.Rate?, queueLimit: Int?, aging: Duration?,
    followsServerLimits: Bool = false
  ) {
    self.queueLimit = queueLimit ?? .max
    queue = LimitedQueue(atMost: limit, perKey: perHost ?? (followsServerLimits ? .max : nil), aging: aging)
    bucket = rate.map { TokenBucket($0) }
  }

  /// The maximum number of requests in flight.
  var limit: Int {
    get { queue.limit }
    set { queue.limit = newValue }
  }

  /// The number of requests in flight.
  var running: Int { queue.running }

  /// The number of queued requests.
  var waiting: Int { queue.count }

  /// The queued items, in the order in which they arrived.
  var items: [Item] { queue.items }

  /// Whether the state equals the initial state, except the tokens.
  var isIdle: Bool { running == 0 && waiting == 0 && queue.laneCount == 0 }
}

extension ThrottleState {
  /// Admits a new request if no request is queued and no limit applies. Returns `false` if the request must be queued.
  mutating func beginsAtOnce(_ host: String, at now: Duration) -> Bool {
    endServerLimits(at: now)
    guard !isPaused, queue.beginsAtOnce(host) else { return false }
    bucket?.refill(at: now)
    guard bucket?.hasToken != false else { return false }
    admit(host)
    return true
  }

  /// Queues a new request. `next(at:)` decides whether it begins.
  ///
  /// - Parameter patience: The maximum time that the request can wait. `nil` sets no limit.
  mutating func arrived(
    _ item: Item, host: String, priority: RequestPriority, patience: Duration?, at now: Duration
  ) -> Arrival {
    bucket?.refill(at: now)
    if let patience, let bucket, bucket.wait > .zero, bucket.wait >= patience { return .isTooLate }
    if let patience, let limit = serverLimits[host], limit.allowed <= 0, limit.end - now >= patience {
      return .isTooLate
    }
    let place = queue.append(item, key: host, level: priority.level, at: now)
    // The queue limit does not apply if a queued request can begin now.
    guard waiting <= queueLimit || (hasRoom && bucket?.hasToken != false && queue.first() != nil) else {
      queue.remove(place)
      return .queueIsFull
    }
    return .waits(place)
  }

  /// Admits a request that bypasses the queue.
  mutating func passed(_ host: String, at now: Duration) {
    bucket?.refill(at: now)
    admit(host)
  }

  /// Admits the next request, if one can begin.
  mutating func next(at now: Duration) -> Step {
    endServerLimits(at: now)
    guard hasRoom else { return .wait }
    guard let first = queue.first() else {
      return waiting > 0 ? firstEnd.map { .waitForTime($0 - now) } ?? .wait : .wait
    }
    bucket?.refill(at: now)
    if let bucket, !bucket.hasToken { return .waitForTime(bucket.wait) }
    guard let item = queue.popFirst() else { return .wait }
    take(first.key ?? "")
    return .begin(item)
  }

  /// Changes the priority of a request, if it is queued.
  mutating func changed(_ place: LimitedQueue<Item>.Entry, to priority: RequestPriority) {
    queue.move(place, to: priority.level)
  }

  /// Removes a queued request. Returns `false` if it is not queued.
  mutating func left(_ place: LimitedQueue<Item>.Entry) -> Bool { queue.remove(place) }

  /// Registers that a request has completed.
  mutating func ended(_ host: String) {
    queue.ended(host)
  }

  /// Registers that an admitted request did not begin. Its token is returned.
  mutating func withdrew(_ host: String) {
    bucket?.putBack()
    changeServerLimit(of: host) { $0.allowed += 1 }
    ended(host)
  }

  /// Removes all queued requests and fills the bucket. Requests in flight are not affected.
  mutating func reset() -> [Item] {
    bucket?.fill()
    for host in serverLimits.keys { endServerLimit(of: host) }
    firstEnd = nil
    return queue.removeAll()
  }

  private var hasRoom: Bool { !isPaused && queue.hasRoom }

  private mutating func admit(_ host: String) {
    queue.began(host)
    take(host)
  }

  private mutating func take(_ host: String) {
    bucket?.take()
    changeServerLimit(of: host) { $0.allowed -= 1 }
  }
}

// MARK: - Limits of servers

extension ThrottleState {
  /// Registers the limit that a server has announced in the response to a request that is in flight.
  ///
  /// The server may not have counted the other requests in flight. They count as requests that it still has to accept.
  mutating func announced(_ limit: RateLimit, by host: String, at now: Duration) {
    if serverLimits.count >= Self.mostServerLimits, serverLimits[host] == nil,
      let first = serverLimits.min(by: { $0.value.end < $1.value.end })?.key
    {
      endServerLimit(of: first)
    }
    let others = max(0, queue.running(host) - 1)
    serverLimits[host] = ServerLimit(allowed: limit.remaining - others, end: now + limit.reset)
    firstEnd = serverLimits.values.map(\.end).min()
    queue.hold(host, limit.remaining <= others)
  }

  private mutating func changeServerLimit(of host: String, _ change: (inout ServerLimit) -> Void) {
    guard !serverLimits.isEmpty, var limit = serverLimits[host] else { return }
    change(&limit)
    serverLimits[host] = limit
    queue.hold(host, limit.allowed <= 0)
  }

  /// Forgets the limits that have ended.
  private mutating func endServerLimits(at now: Duration) {
    guard let firstEnd, firstEnd <= now else { return }
    for (host, limit) in serverLimits where limit.end <= now { endServerLimit(of: host) }
    self.firstEnd = serverLimits.values.map(\.end).min()
  }

  private mutating func endServerLimit(of host: String) {
    serverLimits[host] = nil
    queue.hold(host, false)
  }
}

/// The token bucket of a rate limit. Pure: reads no clock. It counts in integers, so that rounding errors do not
/// accumulate.
///
/// # Invariants
/// 1. `credit` is measured in attoseconds times `count`: a token costs `period`, and each attosecond adds `count`.
/// 2. `credit` is at most `capacity` and at least `-capacity`. Requests that bypass the queue create a debt, which is
///    limited.
/// 3. If time goes backward, the elapsed time counts as zero.
package struct TokenBucket {
  private let count: Int128
  private let period: Int128
  private let capacity: Int128
  private var credit: Int128
  private var latest: Duration?

  /// Creates a full bucket.
  package init(_ rate: Throttle.Rate) {
    count = Int128(rate.count)
    period = rate.duration.attosecondCount
    capacity = Int128(rate.burst) * period
    credit = capacity
  }

  var hasToken: Bool { credit >= period }

  /// Adds the tokens for the elapsed time.
  package mutating func refill(at now: Duration) {
    defer { latest = max(latest ?? now, now) }
    guard let latest, now > latest else { return }
    let elapsed = min(now - latest, .century).attosecondCount
    credit = min(capacity, credit + elapsed * count)
  }

  /// Fills the bucket.
  package mutating func fill() {
    credit = capacity
  }

  /// Takes a token. If none is available, the credit becomes a debt.
  package mutating func take() {
    credit = max(credit - period, -capacity)
  }

  /// Returns a token that was not needed.
  package mutating func putBack() {
    credit = min(credit + period, capacity)
  }

  /// The time from the last refill until a token is available. Zero if a token is available.
  package var wait: Duration {
    guard !hasToken else { return .zero }
    return Duration(attosecondCount: (period - credit + count - 1) / count)
  }
}

extension Duration {
  fileprivate var attosecondCount: Int128 {
    Int128(components.seconds) * 1_000_000_000_000_000_000 + Int128(components.attoseconds)
  }

  fileprivate init(attosecondCount: Int128) {
    let (seconds, attoseconds) = attosecondCount.quotientAndRemainder(dividingBy: 1_000_000_000_000_000_000)
    self.init(secondsComponent: Int64(seconds), attosecondsComponent: Int64(attoseconds))
  }
}

/// The state of the single timer that wakes a throttle when a token is available, or when a server accepts more. Pure: it
/// schedules no timer itself.
///
/// # Invariants
/// 1. At most one timer is set or about to be set. `number` is its number.
/// 2. A timer with another number is obsolete. It is returned to be cancelled, and has no effect when it fires.
struct WakeTimer {
  private var number = 0
  private var isSet = false
  private var timer: FutureTimer?
  /// The instant at which the timer fires.
  private var due = Duration.zero

  /// Returns the number of a timer to set, or `nil` if a timer is set that fires in time, and the timer that must be cancelled.
  mutating func isNeeded(at instant: Duration) -> (number: Int?, obsolete: FutureTimer?) {
    if isSet, due <= instant { return (nil, nil) }
    number += 1
    isSet = true
    due = instant
    return (number, timer.take())
  }

  /// Registers the timer with this number. Returns the timer if it must be cancelled.
  mutating func didSet(_ timer: FutureTimer, _ number: Int) -> FutureTimer? {
    guard isSet, number == self.number else { return timer }
    self.timer = timer
    return nil
  }

  /// Registers that no request waits for a token. Returns the timer that must be cancelled.
  mutating func isNotNeeded() -> FutureTimer? {
    isSet = false
    return timer.take()
  }

  /// Registers that the timer with this number has fired. Returns the timer to release.
  mutating func fired(_ number: Int) -> FutureTimer? {
    guard isSet, number == self.number else { return nil }
    isSet = false
    return timer.take()
  }
}
