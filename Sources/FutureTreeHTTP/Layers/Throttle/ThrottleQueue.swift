import FutureTree

/// The queued requests and their order. Pure: takes no lock, calls no closure, reads no clock.
///
/// Waiting time raises the priority: a request that has waited for `aging` longer counts as one priority higher. The
/// order of two queued requests therefore changes only if a priority is changed. The rank of a request is known when it
/// arrives: the time of its arrival, moved forward by `aging` for each level of its priority.
///
/// A lane has a heap with the requests of one host, and `ready` is a heap of lanes. When a host is full, its lane is removed
/// from `ready`, with all its requests in one step. It is inserted again when a request to the host has completed.
///
/// # Invariants
/// 1. Each queued request is in `entries` and in the lane of its host.
/// 2. `ready` has exactly the lanes with queued requests whose hosts are not full. It orders them by their first requests.
/// 3. `lanes` has exactly the hosts with requests that are queued or in flight.
/// 4. If hosts are not limited, all requests wait in `common`, and `lanes` is empty.
struct ThrottleQueue<Item> {
  typealias Ticket = UInt64

  /// A queued request. The lowest rank is first, and among equal ranks the lowest ticket.
  private final class Entry: HeapElement {
    let item: Item
    let host: String?
    let ticket: Ticket
    let arrival: Duration
    /// The time of arrival, moved forward according to the priority.
    var rank: Duration
    var position: Int?

    init(_ item: Item, host: String?, ticket: Ticket, arrival: Duration, rank: Duration) {
      (self.item, self.host, self.ticket, self.arrival, self.rank) = (item, host, ticket, arrival, rank)
    }

    func isBefore(_ other: Entry) -> Bool { rank == other.rank ? ticket < other.ticket : rank < other.rank }
  }

  /// The requests of one host.
  private final class Lane: HeapElement {
    /// The number of requests in flight.
    var running = 0
    var waiting = Heap<Entry>()
    var position: Int?

    func isBefore(_ other: Lane) -> Bool {
      guard let first = waiting.first, let otherFirst = other.waiting.first else {
        preconditionFailure("\(#function): a lane without queued requests is in the heap")  // Invariant 2.
      }
      return first.isBefore(otherFirst)
    }
  }

  /// The limit of requests in flight for each host. `nil` disables the limit.
  private let perHost: Int?
  private let common = Lane()
  /// The waiting time that counts as one priority. `nil`: a higher priority is always first.
  private let aging: Duration?
  private var entries: [Ticket: Entry] = [:]
  private var lanes: [String?: Lane] = [:]
  private var ready = Heap<Lane>()
  private var lastTicket: Ticket = 0
  private var latest: Duration?

  init(perHost: Int?, aging: Duration?) {
    self.perHost = perHost
    self.aging = aging
  }

  /// The number of queued requests.
  var count: Int { entries.count }

  /// The queued items, in the order in which they arrived.
  var items: [Item] { entries.sorted { $0.key < $1.key }.map(\.value.item) }

  /// The number of known hosts.
  var laneCount: Int { lanes.count }
}

// MARK: - Queued requests

extension ThrottleQueue {
  /// Appends an item after those of the same priority.
  ///
  /// - Complexity: O(log n), like `remove` and `move`.
  mutating func append(_ item: Item, host: String?, level: Int, at now: Duration) -> Ticket {
    lastTicket += 1
    let arrival = max(latest ?? now, now)
    latest = arrival
    let rank = rank(level: level, at: arrival)
    let entry = Entry(item, host: host, ticket: lastTicket, arrival: arrival, rank: rank)
    entries[lastTicket] = entry
    change(host) { $0.waiting.insert(entry) }
    return lastTicket
  }

  /// Removes a queued item. Returns `nil` if it is not queued.
  mutating func remove(_ ticket: Ticket) -> Item? {
    guard let entry = entries.removeValue(forKey: ticket) else { return nil }
    change(entry.host) { $0.waiting.remove(entry) }
    return entry.item
  }

  /// Changes the priority of a queued item. Its time of arrival stays.
  mutating func move(_ ticket: Ticket, to level: Int) {
    guard let entry = entries[ticket] else { return }
    let rank = rank(level: level, at: entry.arrival)
    guard rank != entry.rank else { return }
    change(entry.host) { lane in
      lane.waiting.remove(entry)
      entry.rank = rank
      lane.waiting.insert(entry)
    }
  }

  /// Returns the next item that may begin: the first item of all hosts that are not full.
  ///
  /// - Complexity: O(1).
  func first() -> Ticket? { ready.first?.waiting.first?.ticket }

  /// Returns the host of a queued item. Returns `nil` for requests that have only a path.
  func host(of ticket: Ticket) -> String? { entries[ticket]?.host }

  /// Removes all items, in the order of their arrival.
  mutating func removeAll() -> [Item] {
    let tickets = entries.keys.sorted()
    return tickets.compactMap { remove($0) }
  }

  private func rank(level: Int, at arrival: Duration) -> Duration {
    aging.map { arrival - $0 * level } ?? .seconds(-level)
  }
}

// MARK: - Requests in flight

extension ThrottleQueue {
  /// Returns whether the host is not full.
  func hasRoom(for host: String?) -> Bool { lanes[host].map(hasRoom) ?? true }

  private func hasRoom(_ lane: Lane) -> Bool { perHost.map { lane.running < $0 } ?? true }

  /// Registers that a request to this host begins, whether it was queued or not.
  ///
  /// - Complexity: O(log h) in the number of hosts, like `ended`.
  mutating func began(_ host: String?) {
    if perHost != nil { change(host) { $0.running += 1 } }
  }

  /// Registers that a request to this host has completed.
  mutating func ended(_ host: String?) {
    if perHost != nil { change(host) { $0.running -= 1 } }
  }

  /// Changes the lane of a host, and restores the invariants 2 and 3.
  private mutating func change(_ host: String?, _ body: (Lane) -> Void) {
    let known = perHost == nil ? common : lanes[host]
    let lane = known ?? Lane()
    // The lane is not in the heap while its first request changes.
    ready.remove(lane)
    body(lane)
    let isWaiting = lane.waiting.count > 0
    if isWaiting, hasRoom(lane) { ready.insert(lane) }
    guard perHost != nil else { return }
    let isUsed = isWaiting || lane.running > 0
    if isUsed != (known != nil) { lanes[host] = isUsed ? lane : nil }
  }
}
