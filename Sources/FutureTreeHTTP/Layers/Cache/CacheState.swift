import FutureTree

/// The stored responses, and the order in which they were used. Pure: takes no lock, reads no clock.
struct CacheState: Sendable {
  /// A stored response, and when it was used last. Guarded like the state.
  private final class Slot: HeapElement, @unchecked Sendable {  // Because: its variables are guarded like the state.
    var position: Int?
    let entry: CacheEntry
    var lastUse: Int

    init(_ entry: CacheEntry, _ lastUse: Int) {
      self.entry = entry
      self.lastUse = lastUse
    }

    func isBefore(_ other: Slot) -> Bool { lastUse < other.lastUse }
  }

  /// The result of a search.
  enum Found: Sendable {
    case entry(CacheEntry)
    /// There are responses for the URL, but `Vary` or the credentials select none.
    case others
    case nothing
  }

  private let limits: HTTPCache.Limits
  /// The responses for each URL, those of all users.
  private var slots: [String: [Slot]] = [:]
  /// The response that was not used for the longest time comes first.
  private var uses = Heap<Slot>()
  private var useCount = 0

  /// The number of bytes of all responses.
  private(set) var size = 0
  var count: Int { uses.count }

  init(_ limits: HTTPCache.Limits) {
    self.limits = limits
  }

  /// Returns the response that a request selects, and counts it as used. Of several, the most recent one (RFC 9111,
  /// section 4.1).
  ///
  /// - Complexity: O(log n).
  mutating func find(_ key: CacheKey, for request: HTTPRequest) -> Found {
    guard let all = slots[key.url] else { return .nothing }
    let selected = all.filter { $0.entry.key == key && $0.entry.isSelected(by: request) }
    guard let slot = selected.max(by: { $0.entry.date < $1.entry.date }) else { return .others }
    uses.remove(slot)
    slot.lastUse = nextUse()
    uses.insert(slot)
    return .entry(slot.entry)
  }

  /// Stores a response instead of those that the same request selects. Removes the responses that were not used for the longest
  /// time if there are too many bytes.
  ///
  /// - Returns: Whether it was stored.
  mutating func store(_ entry: CacheEntry, for request: HTTPRequest) -> Bool {
    guard entry.size <= limits.perEntry, entry.size <= limits.total else { return false }
    for slot in slots[entry.key.url] ?? [] where slot.entry.key == entry.key && slot.entry.isSelected(by: request) {
      remove(slot)
    }
    let slot = Slot(entry, nextUse())
    slots[entry.key.url, default: []].append(slot)
    uses.insert(slot)
    size += entry.size
    while size > limits.total, let oldest = uses.first { remove(oldest) }
    return true
  }

  /// Removes the responses for a URL, those of all users (RFC 9111, section 4.4).
  mutating func remove(_ url: String) {
    for slot in slots[url] ?? [] { remove(slot) }
  }

  mutating func removeAll() {
    self = CacheState(limits)
  }

  private mutating func remove(_ slot: Slot) {
    uses.remove(slot)
    size -= slot.entry.size
    slots[slot.entry.key.url]?.removeAll { $0 === slot }
    if slots[slot.entry.key.url]?.isEmpty == true { slots[slot.entry.key.url] = nil }
  }

  private mutating func nextUse() -> Int {
    useCount += 1
    return useCount
  }
}
