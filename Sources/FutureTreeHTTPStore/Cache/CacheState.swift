import FutureTree
import FutureTreeHTTP

/// The stored responses in memory. Pure: takes no lock, reads no clock.
struct CacheState: Sendable {
  /// The result of a search.
  enum Found: Sendable {
    case entry(CacheEntry)
    /// There are responses for the URL, but `Vary` or the credentials select none.
    case others
    case nothing
  }

  /// The maximum number of responses for one URL and user, which differ in the fields that `Vary` names.
  static let maximumVariantCount = 32

  private typealias Index = CacheIndex<[String], CacheEntry>

  private let limits: HTTPCache.Limits
  private var index: Index

  var size: Int { index.size }
  var count: Int { index.count }

  init(_ limits: HTTPCache.Limits) {
    self.limits = limits
    index = Index(maximumSize: limits.total)
  }

  /// Returns the response that a request selects, and counts it as used. Of several, the most recent one with `Vary`, or
  /// without it if none has one (RFC 9111, section 4.1).
  ///
  /// - Complexity: O(log n).
  mutating func find(_ key: CacheKey, for request: HTTPRequest) -> Found {
    let selected = index[key.url, key.credentials].filter { $0.element.isSelected(by: request) }
    let slot = selected.max { first, second in
      (first.element.varies ? 1 : 0, first.element.date) < (second.element.varies ? 1 : 0, second.element.date)
    }
    guard let slot else {
      return index.contains(key.url) ? .others : .nothing
    }
    index.use(slot)
    return .entry(slot.element)
  }

  /// Stores a response instead of those that the same request selects. Removes the responses that were not used for the longest
  /// time if there are too many bytes or variants.
  ///
  /// - Returns: Whether it was stored, and the responses that it replaces.
  mutating func store(_ entry: CacheEntry, for request: HTTPRequest) -> (isStored: Bool, replaced: [CacheEntry]) {
    guard entry.size <= limits.perEntry, entry.size <= limits.total else { return (false, []) }
    let (url, user) = (entry.key.url, entry.key.credentials)
    var others = index[url, user]
    let replaced = others.filter { $0.element.isSelected(by: request) }
    for slot in replaced { index.remove(slot) }
    others.removeAll { !$0.isStored }
    if others.count >= CacheState.maximumVariantCount, let oldest = Index.oldest(of: others) { index.remove(oldest) }
    return (index.insert(entry, url, user, size: entry.size) != nil, replaced.map(\.element))
  }

  /// Removes the responses for a URL, those of all users (RFC 9111, section 4.4).
  mutating func remove(_ url: String) {
    for slot in index[url] { index.remove(slot) }
  }

  mutating func removeAll() {
    self = CacheState(limits)
  }
}
