import FutureTree

/// Who waits, and who is next, as a value. Pure: takes no lock, calls nobody, reads no clock.
///
/// Waiting makes up for priority: who has waited for `aging` longer counts as one priority higher. So of two that wait, the
/// same one is in front at all times, and its rank is known when it comes: the time of its arrival, moved forward by
/// `aging` for each level of its priority.
///
/// # Invariants
/// 1. A lane has every ticket that waits for its host, in a list for each priority, by rank.
/// 2. A lane where somebody waits is in `heap`, unless its host is full; its `rank` there is no greater than its first's.
/// 3. `idle` counts the lanes in `heap` where nobody waits: at most half of them, so that leaving costs O(1) in the long run.
/// 4. `lanes` has the hosts where somebody waits or runs.
/// 5. Without a limit per host, all tickets wait in `common`, and `lanes` and `heap` are empty.
struct ThrottleQueue<Item> {
  typealias Ticket = UInt64

  private struct Place {
    let item: Item
    let host: String?
    let level: Int
    let rank: ThrottleRank
    var previous: Ticket?
    var next: Ticket?
  }

  /// The number of requests that may run for one host. `nil` disables this limit.
  private let perHost: Int?
  private let common = ThrottleLane()
  /// nil: a higher priority always goes first.
  private let aging: Duration?
  private var places: [Ticket: Place] = [:]
  private var lanes: [String?: ThrottleLane] = [:]
  private var heap = Heap<ThrottleLane>()
  private var idle = 0
  private var lastTicket: Ticket = 0
  private var latest: Duration?

  init(perHost: Int?, aging: Duration?) {
    self.perHost = perHost
    self.aging = aging
  }

  /// How many wait.
  var count: Int { places.count }

  /// How many hosts it knows.
  var laneCount: Int { max(lanes.count, heap.count) }
}

// MARK: - Waiting

extension ThrottleQueue {
  /// Lets something wait behind its equals.
  ///
  /// - Complexity: O(log h) in the number of hosts.
  mutating func append(_ item: Item, host: String?, level: Int, at now: Duration) -> Ticket {
    lastTicket += 1
    latest = max(latest ?? now, now)
    let lane = self.lane(for: host)
    let rank = rank(level: level, at: latest ?? now)
    places[lastTicket] = Place(item: item, host: host, level: level, rank: rank, previous: lane.lines[level].last)
    if let last = lane.lines[level].last {
      places[last]?.next = lastTicket
    } else {
      lane.lines[level].first = lastTicket
    }
    lane.lines[level].last = lastTicket
    if lane.waiting == 0, lane.isListed { idle -= 1 }
    lane.waiting += 1
    list(lane, rank)
    return lastTicket
  }

  /// Takes out one that waits. Returns nil if it does not.
  ///
  /// - Complexity: O(1), amortised.
  mutating func remove(_ ticket: Ticket) -> Item? {
    guard let place = places.removeValue(forKey: ticket) else { return nil }
    let lane = self.lane(for: place.host)
    if let previous = place.previous {
      places[previous]?.next = place.next
    } else {
      lane.lines[place.level].first = place.next
    }
    if let next = place.next {
      places[next]?.previous = place.previous
    } else {
      lane.lines[place.level].last = place.previous
    }
    lane.waiting -= 1
    if lane.waiting == 0, lane.isListed {
      idle += 1
      if idle * 2 > heap.count {
        heap.removeAll { $0.waiting == 0 }
        idle = 0
      }
    }
    forget(lane, of: place.host)
    return place.item
  }

  /// The next that may begin: the first of all whose hosts are not full.
  ///
  /// - Complexity: O(log h) in the number of hosts, amortised.
  mutating func first() -> Ticket? {
    if perHost == nil { return firstRank(of: common)?.ticket }
    while let lane = heap.first {
      guard lane.waiting > 0, !isFull(lane) else {
        if lane.waiting == 0 { idle -= 1 }
        heap.remove(lane)
        continue
      }
      guard let rank = firstRank(of: lane) else { preconditionFailure("\(#function): a lane lost its first") }
      if rank == lane.rank { return rank.ticket }
      lane.rank = rank
      heap.firstHasSunk()
    }
    return nil
  }

  /// The host that one waits for; nil also if hosts do not count.
  func host(of ticket: Ticket) -> String? { places[ticket]?.host }

  /// Takes out all, in the order in which they came.
  mutating func removeAll() -> [Item] {
    let tickets = places.keys.sorted()
    return tickets.compactMap { remove($0) }
  }
}

// MARK: - Running

extension ThrottleQueue {
  /// Whether the host is not full.
  func hasRoom(for host: String?) -> Bool {
    guard perHost != nil, let lane = lanes[host] else { return true }
    return !isFull(lane)
  }

  /// Something runs for this host, whether it has waited or not.
  mutating func began(_ host: String?) {
    if perHost != nil { lane(for: host).running += 1 }
  }

  /// Something that ran for this host has ended.
  mutating func ended(_ host: String?) {
    guard perHost != nil else { return }
    let lane = self.lane(for: host)
    lane.running -= 1
    if let rank = firstRank(of: lane) { list(lane, rank) }
    forget(lane, of: host)
  }
}

// MARK: - Lanes

extension ThrottleQueue {
  private mutating func lane(for host: String?) -> ThrottleLane {
    guard perHost != nil else { return common }
    if let lane = lanes[host] { return lane }
    let lane = ThrottleLane()
    lanes[host] = lane
    return lane
  }

  private func isFull(_ lane: ThrottleLane) -> Bool {
    perHost.map { lane.running >= $0 } ?? false
  }

  /// Puts a lane into the heap where it belongs by this rank, unless it stands further in front. A full one is left out.
  private mutating func list(_ lane: ThrottleLane, _ rank: ThrottleRank) {
    guard perHost != nil else { return }
    if lane.isListed {
      guard rank < lane.rank else { return }
      lane.rank = rank
      heap.hasRisen(lane)
    } else if !isFull(lane) {
      lane.rank = rank
      heap.insert(lane)
    }
  }

  private mutating func forget(_ lane: ThrottleLane, of host: String?) {
    if lane.waiting == 0, lane.running == 0 { lanes[host] = nil }
  }

  private func firstRank(of lane: ThrottleLane) -> ThrottleRank? {
    var first: ThrottleRank?
    for line in lane.lines {
      guard let ticket = line.first, let rank = places[ticket]?.rank else { continue }
      if first.map({ rank < $0 }) ?? true { first = rank }
    }
    return first
  }

  private func rank(level: Int, at now: Duration) -> ThrottleRank {
    let time = aging.map { now - $0 * level } ?? .seconds(-level)
    return ThrottleRank(time: time, ticket: lastTicket)
  }
}
