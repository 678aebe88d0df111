import FutureTree

/// The queued requests and their order. Pure: takes no lock, calls no closure, reads no clock.
///
/// Waiting time raises the priority: a request that has waited for `aging` longer counts as one priority higher. The
/// order of two queued requests therefore never changes. The rank of a request is known when it arrives: the time of its
/// arrival, moved forward by `aging` for each level of its priority.
///
/// # Invariants
/// 1. A lane has all tickets that wait for its host, in a list for each priority, ordered by rank.
/// 2. A lane with queued requests is in `heap`, unless its host is full. Its `rank` is no greater than the rank of its
///    first request.
/// 3. `idle` is the number of lanes in `heap` without queued requests. They are at most half of the heap, so that removal
///    costs amortized O(1).
/// 4. `lanes` has the hosts with requests that are queued or in flight.
/// 5. If hosts are not limited, all requests wait in `common`, and `lanes` and `heap` are empty.
struct ThrottleQueue<Item> {
  typealias Ticket = UInt64

  private struct Place {
    let item: Item
    let host: String?
    let arrival: Duration
    var level: Int
    var rank: ThrottleRank
    var previous: Ticket?
    var next: Ticket?
  }

  /// The limit of requests in flight for each host. `nil` disables the limit.
  private let perHost: Int?
  private let common = ThrottleLane()
  /// The waiting time that counts as one priority. `nil`: a higher priority is always first.
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

  /// The number of queued requests.
  var count: Int { places.count }

  /// The queued items, in the order in which they arrived.
  var items: [Item] { places.sorted { $0.key < $1.key }.map(\.value.item) }

  /// The number of known hosts.
  var laneCount: Int { max(lanes.count, heap.count) }
}

// MARK: - Queued requests

extension ThrottleQueue {
  /// Appends an item after those of the same priority.
  ///
  /// - Complexity: O(log h) in the number of hosts.
  mutating func append(_ item: Item, host: String?, level: Int, at now: Duration) -> Ticket {
    lastTicket += 1
    latest = max(latest ?? now, now)
    let lane = self.lane(for: host)
    let arrival = latest ?? now
    let rank = rank(of: lastTicket, level: level, at: arrival)
    let last = lane.lines[level].last
    places[lastTicket] = Place(
      item: item, host: host, arrival: arrival, level: level, rank: rank, previous: last)
    if let last { places[last]?.next = lastTicket } else { lane.lines[level].first = lastTicket }
    lane.lines[level].last = lastTicket
    if lane.waiting == 0, lane.isListed { idle -= 1 }
    lane.waiting += 1
    list(lane, rank)
    return lastTicket
  }

  /// Removes a queued item. Returns `nil` if it is not queued.
  ///
  /// - Complexity: O(1), amortized.
  mutating func remove(_ ticket: Ticket) -> Item? {
    guard let place = places.removeValue(forKey: ticket) else { return nil }
    let lane = self.lane(for: place.host)
    unlink(place, from: lane)
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

  /// Changes the priority of a queued item. Its time of arrival stays.
  ///
  /// - Complexity: O(n) in the number of items of the new priority that arrived later.
  mutating func move(_ ticket: Ticket, to level: Int) {
    guard let place = places[ticket], place.level != level else { return }
    let lane = self.lane(for: place.host)
    unlink(place, from: lane)
    let rank = rank(of: ticket, level: level, at: place.arrival)
    places[ticket]?.level = level
    places[ticket]?.rank = rank
    var previous = lane.lines[level].last
    while let later = previous, later > ticket { previous = places[later]?.previous }
    link(ticket, in: lane, after: previous)
    list(lane, rank)
  }

  /// Returns the next item that may begin: the first item of all hosts that are not full.
  ///
  /// - Complexity: O(log h) in the number of hosts, amortized.
  mutating func first() -> Ticket? {
    if perHost == nil { return firstRank(of: common)?.ticket }
    while let lane = heap.first {
      guard lane.waiting > 0, !isFull(lane) else {
        if lane.waiting == 0 { idle -= 1 }
        heap.remove(lane)
        continue
      }
      guard let rank = firstRank(of: lane) else {
        preconditionFailure("\(#function): the first entry of a lane is missing")
      }
      if rank == lane.rank { return rank.ticket }
      lane.rank = rank
      heap.firstHasSunk()
    }
    return nil
  }

  /// Returns the host of a queued item. Returns `nil` for requests that have only a path.
  func host(of ticket: Ticket) -> String? { places[ticket]?.host }

  /// Removes all items, in the order of their arrival.
  mutating func removeAll() -> [Item] {
    let tickets = places.keys.sorted()
    return tickets.compactMap { remove($0) }
  }
}

// MARK: - Requests in flight

extension ThrottleQueue {
  /// Returns whether the host is not full.
  func hasRoom(for host: String?) -> Bool {
    guard perHost != nil, let lane = lanes[host] else { return true }
    return !isFull(lane)
  }

  /// Registers that a request to this host begins, whether it was queued or not.
  mutating func began(_ host: String?) {
    if perHost != nil { lane(for: host).running += 1 }
  }

  /// Registers that a request to this host has completed.
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

  /// Inserts a lane into the heap at this rank, unless it is listed with a lower rank. A full lane is not inserted.
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

  private func rank(of ticket: Ticket, level: Int, at arrival: Duration) -> ThrottleRank {
    ThrottleRank(time: aging.map { arrival - $0 * level } ?? .seconds(-level), ticket: ticket)
  }

  /// Inserts an item into the list of its priority, after another or at the beginning.
  private mutating func link(_ ticket: Ticket, in lane: ThrottleLane, after previous: Ticket?) {
    guard let level = places[ticket]?.level else { return }
    let next = previous.map { places[$0]?.next } ?? lane.lines[level].first
    places[ticket]?.previous = previous
    places[ticket]?.next = next
    if let previous { places[previous]?.next = ticket } else { lane.lines[level].first = ticket }
    if let next { places[next]?.previous = ticket } else { lane.lines[level].last = ticket }
  }

  private mutating func unlink(_ place: Place, from lane: ThrottleLane) {
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
  }
}

/// The rank of a queued request: the lowest rank begins first. Pure.
struct ThrottleRank: Comparable {
  /// The time of arrival, moved forward according to the priority.
  let time: Duration
  /// The ticket, which orders requests of the same time.
  let ticket: UInt64

  static func < (first: ThrottleRank, second: ThrottleRank) -> Bool {
    (first.time, first.ticket) < (second.time, second.ticket)
  }
}

/// The queued requests of one host, in a list for each priority. The queue that owns the lane protects it.
final class ThrottleLane: HeapElement {
  /// The ends of a list. Both are `nil` if the list is empty.
  struct Line {
    var first: UInt64?
    var last: UInt64?
  }

  /// The number of requests in flight to this host.
  var running = 0
  /// The number of queued requests.
  var waiting = 0
  /// The lists by priority.
  var lines = [Line](repeating: Line(), count: RequestPriority.levelCount)
  /// The rank of the first request, or a lower one: when a request leaves, the next one is not determined immediately.
  var rank = ThrottleRank(time: .zero, ticket: 0)
  var position: Int?

  var isListed: Bool { position != nil }

  func isBefore(_ other: ThrottleLane) -> Bool { rank < other.rank }
}
