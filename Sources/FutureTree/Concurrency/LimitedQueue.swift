/// The work that waits for a slot, and its order: the engine of `FutureQueue` and `Throttle`. Pure: takes no lock, calls no
/// closure, reads no clock.
///
/// Waiting time raises the priority: work that has waited for `aging` longer counts as one level higher. The order of two
/// items therefore changes only if a level is changed. The rank of an item is known when it arrives: the time of its arrival,
/// moved forward by `aging` for each level.
///
/// A lane has a heap with the items of one key, and `ready` is a heap of lanes. When a key is full, its lane is removed from
/// `ready`, with all its items in one step. It is inserted again when work of the key has ended.
///
/// Its methods are inlinable, so that other modules specialize them.
///
/// # Invariants
/// 1. Each waiting item is in the lane of its key, and `count` is their number.
/// 2. If keys are limited, `ready` has exactly the lanes with waiting items whose keys are not full and not held. It orders
///    them by their first items.
/// 3. `lanes` has exactly the keys with work that waits or runs, and the keys that are held.
/// 4. Items without a key wait in `common`, which is never full. If keys are not limited, all items do, and `lanes` and `ready`
///    are empty.
@usableFromInline package struct LimitedQueue<Item> {
  /// The place of an item. The lowest rank is first, and among equal ranks the item that arrived first.
  @usableFromInline package final class Entry: HeapElement, @unchecked Sendable {  // Because: guarded like the queue.
    @usableFromInline package let item: Item
    @usableFromInline package let key: String?
    /// The number of items that arrived before it.
    @usableFromInline let number: UInt64
    /// In nanoseconds.
    @usableFromInline let arrival: Int64
    /// The time of arrival, moved forward according to the level.
    @exclusivity(unchecked) @usableFromInline var rank: Int64
    /// `nil` if the item no longer waits.
    @exclusivity(unchecked) @usableFromInline package var position: Int?

    @inlinable init(_ item: Item, key: String?, number: UInt64, arrival: Int64, rank: Int64) {
      (self.item, self.key, self.number, self.arrival, self.rank) = (item, key, number, arrival, rank)
    }

    @inlinable package func isBefore(_ other: Entry) -> Bool {
      rank == other.rank ? number < other.number : rank < other.rank
    }
  }

  /// The items of one key.
  @usableFromInline final class Lane: HeapElement {
    /// The number of items that have begun and not ended.
    @exclusivity(unchecked) @usableFromInline var running = 0
    /// Whether no item may begin for another reason than the limits.
    @exclusivity(unchecked) @usableFromInline var isHeld = false
    @exclusivity(unchecked) @usableFromInline var waiting = Heap<Entry>()
    @exclusivity(unchecked) @usableFromInline package var position: Int?

    @inlinable init() {}

    @inlinable package func isBefore(_ other: Lane) -> Bool {
      guard let first = waiting.first, let otherFirst = other.waiting.first else {
        preconditionFailure("\(#function): a lane without waiting items is in the heap")  // Invariant 2.
      }
      return first.isBefore(otherFirst)
    }
  }

  /// The maximum number of items that run at a time.
  @usableFromInline package var limit: Int
  /// The number of items that have begun and not ended.
  @usableFromInline package var running = 0
  /// The limit for each key. `nil` disables it.
  @usableFromInline let perKey: Int?
  @usableFromInline let common = Lane()
  /// The waiting time that counts as one level, in nanoseconds. `nil`: a higher level is always first.
  @usableFromInline let aging: Int64?
  @usableFromInline var lanes: [String: Lane] = [:]
  @usableFromInline var ready = Heap<Lane>()
  /// The number of waiting items.
  @usableFromInline package var count = 0
  @usableFromInline var arrived: UInt64 = 0
  @usableFromInline var latest = Int64.min

  @inlinable package init(atMost limit: Int = .max, perKey: Int?, aging: Duration?) {
    (self.limit, self.perKey, self.aging) = (limit, perKey, aging.map { min($0.limitedNanoseconds, .max / 16) })
  }

  /// The waiting items, in the order in which they arrived.
  package var items: [Item] { entries.sorted { $0.number < $1.number }.map(\.item) }

  /// The waiting items, by their ranks.
  var itemsByRank: [Item] { entries.sorted { $0.isBefore($1) }.map(\.item) }

  private var entries: [Entry] { ([common] + lanes.values).flatMap(\.waiting.elements) }

  /// The number of known keys.
  @inlinable package var laneCount: Int { lanes.count }
}

// MARK: - Waiting

extension LimitedQueue {
  /// Appends an item after those of the same level.
  ///
  /// - Complexity: O(log n), like `remove` and `move`.
  @inlinable package mutating func append(_ item: Item, key: String?, level: Int, at now: Duration) -> Entry {
    latest = max(latest, now.limitedNanoseconds)
    arrived += 1
    count += 1
    let entry = Entry(item, key: key, number: arrived, arrival: latest, rank: rank(level: level, at: latest))
    change(key) { $0.waiting.insert(entry) }
    return entry
  }

  /// Removes a waiting item. Returns `false` if it does not wait.
  @inlinable @discardableResult package mutating func remove(_ entry: Entry) -> Bool {
    guard entry.position != nil else { return false }
    count -= 1
    change(entry.key) { $0.waiting.remove(entry) }
    return true
  }

  /// Changes the level of a waiting item. Its time of arrival stays.
  @inlinable package mutating func move(_ entry: Entry, to level: Int) {
    let rank = rank(level: level, at: entry.arrival)
    guard entry.position != nil, rank != entry.rank else { return }
    change(entry.key) { lane in
      lane.waiting.remove(entry)
      entry.rank = rank
      lane.waiting.insert(entry)
    }
  }

  /// Returns the next item that may begin: the first item of all keys that are not full. Ignores the limit of all keys.
  ///
  /// - Complexity: O(1).
  @inlinable package func first() -> Entry? { perKey == nil ? common.waiting.first : ready.first?.waiting.first }

  /// Removes all items, in the order of their arrival.
  package mutating func removeAll() -> [Item] {
    let removed = entries.sorted { $0.number < $1.number }
    for entry in removed { remove(entry) }
    return removed.map(\.item)
  }

  @inlinable func rank(level: Int, at arrival: Int64) -> Int64 {
    aging.map { arrival - $0 * Int64(level) } ?? Int64(-level)
  }
}

// MARK: - Running

extension LimitedQueue {
  /// Whether fewer items run than the limit allows.
  @inlinable package var hasRoom: Bool { running < limit }

  /// Returns whether the key is not full. Ignores the limit of all keys.
  @inlinable package func hasRoom(for key: String?) -> Bool { key.flatMap { lanes[$0] }.map(hasRoom) ?? true }

  /// The number of items of this key that run. 0 if keys are not limited.
  package func running(_ key: String?) -> Int { key.flatMap { lanes[$0] }?.running ?? 0 }

  /// Returns whether new work of this key need not wait: no item waits, and no limit applies.
  @inlinable package func beginsAtOnce(_ key: String?) -> Bool { count == 0 && hasRoom && hasRoom(for: key) }

  @inlinable func hasRoom(_ lane: Lane) -> Bool {
    lane === common || !lane.isHeld && perKey.map { lane.running < $0 } ?? true
  }

  /// Removes the next item that may begin, and registers that it begins.
  ///
  /// - Complexity: O(log n), as for `append`.
  @inlinable package mutating func popFirst() -> Item? {
    guard hasRoom, let entry = first() else { return nil }
    running += 1
    count -= 1
    change(entry.key) { lane in
      lane.waiting.remove(entry)
      lane.running += 1
    }
    return entry.item
  }

  /// Registers that work of this key begins, whether it waited or not.
  ///
  /// - Complexity: O(log k) in the number of keys, like `ended`.
  @inlinable package mutating func began(_ key: String?) {
    running += 1
    change(key) { $0.running += 1 }
  }

  /// Decides whether work of this key may begin, apart from the limits. Has no effect if keys are not limited.
  @inlinable package mutating func hold(_ key: String, _ isHeld: Bool) {
    guard perKey != nil else { return }
    change(key) { $0.isHeld = isHeld }
  }

  /// Registers that work of this key has ended.
  @inlinable package mutating func ended(_ key: String?) {
    running -= 1
    change(key) { $0.running -= 1 }
  }

  /// Changes the lane of a key, and restores the invariants 2 and 3.
  @inlinable mutating func change(_ key: String?, _ body: (Lane) -> Void) {
    guard perKey != nil else { return body(common) }
    let known = key.map { lanes[$0] } ?? common
    let lane = known ?? Lane()
    // The lane is not in the heap while its first item changes.
    ready.remove(lane)
    body(lane)
    let isWaiting = lane.waiting.count > 0
    if isWaiting, hasRoom(lane) { ready.insert(lane) }
    guard let key else { return }
    let isUsed = isWaiting || lane.running > 0 || lane.isHeld
    if isUsed != (known != nil) { lanes[key] = isUsed ? lane : nil }
  }
}

extension Duration {
  /// This duration in nanoseconds, limited so that sums with a few levels of an aging do not overflow.
  @usableFromInline var limitedNanoseconds: Int64 { min(max(wholeNanoseconds, -.max / 2), .max / 2) }
}
