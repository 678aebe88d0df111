import FutureTree

/// Elements of a cache by URL and user, with a maximum size. The elements that were not used for the longest time are removed
/// first. Pure: takes no lock, reads no clock.
struct CacheIndex<User: Hashable & Sendable, Element: Sendable>: Sendable {
  /// An element, and when it was used last. Guarded like the index.
  final class Slot: HeapElement, @unchecked Sendable {  // Because: its variables are guarded like the index.
    var position: Int?
    let url: String
    let user: User
    let size: Int
    var element: Element
    fileprivate var lastUse: Int

    fileprivate init(_ element: Element, _ url: String, _ user: User, _ size: Int, _ lastUse: Int) {
      self.element = element
      self.url = url
      self.user = user
      self.size = size
      self.lastUse = lastUse
    }

    /// Whether the slot is still in its index.
    var isStored: Bool { position != nil }

    func isBefore(_ other: Slot) -> Bool { lastUse < other.lastUse }
  }

  private let maximumSize: Int
  private var slots: [String: [User: [Slot]]] = [:]
  /// The slot that was not used for the longest time comes first.
  private var uses = Heap<Slot>()
  private var useCount = 0

  /// The number of bytes of all elements.
  private(set) var size = 0
  var count: Int { uses.count }

  init(maximumSize: Int) {
    self.maximumSize = maximumSize
  }

  /// Returns the slots for a URL and a user, in the order of their insertion.
  subscript(url: String, user: User) -> [Slot] { slots[url]?[user] ?? [] }

  /// Returns the slots for a URL, those of all users.
  subscript(url: String) -> [Slot] { slots[url]?.values.flatMap(\.self) ?? [] }

  /// Whether there are slots for a URL.
  func contains(_ url: String) -> Bool { slots[url] != nil }

  /// Counts an element as used.
  ///
  /// - Complexity: O(log n), like the following methods.
  mutating func use(_ slot: Slot) {
    guard slot.isStored else { return }
    uses.remove(slot)
    slot.lastUse = nextUse()
    uses.insert(slot)
  }

  /// Inserts an element, and removes others if there are too many bytes.
  ///
  /// - Returns: The slot of the element, and the removed slots. `nil` if the element alone is too large.
  mutating func insert(_ element: Element, _ url: String, _ user: User, size: Int) -> (slot: Slot, removed: [Slot])? {
    guard size <= maximumSize else { return nil }
    let slot = Slot(element, url, user, size, nextUse())
    slots[url, default: [:]][user, default: []].append(slot)
    uses.insert(slot)
    self.size += size
    var removed: [Slot] = []
    while self.size > maximumSize, let oldest = uses.first {
      remove(oldest)
      removed.append(oldest)
    }
    return (slot, removed)
  }

  /// Removes a slot, if it is stored.
  mutating func remove(_ slot: Slot) {
    guard slot.isStored else { return }
    uses.remove(slot)
    size -= slot.size
    var users = slots.removeValue(forKey: slot.url) ?? [:]
    let others = users.removeValue(forKey: slot.user)?.filter { $0 !== slot } ?? []
    if !others.isEmpty { users[slot.user] = others }
    if !users.isEmpty { slots[slot.url] = users }
  }

  /// Removes all slots.
  ///
  /// - Complexity: O(n).
  mutating func removeAll() {
    uses.removeAll { _ in true }
    self = CacheIndex(maximumSize: maximumSize)
  }

  /// The slot, of those given, that was not used for the longest time.
  static func oldest(of slots: [Slot]) -> Slot? { slots.min { $0.isBefore($1) } }

  private mutating func nextUse() -> Int {
    useCount += 1
    return useCount
  }
}
