import FutureTree
import FutureTreeHTTP

/// The search for a stored response.
struct CacheSearch: Sendable {
  var request: HTTPRequest
  let key: CacheKey
  let demand: CacheDemand
  let now: Double
  private(set) var generation: Int
  private(set) var entry: CacheEntry?
  /// Whether there are only responses to other requests with this URL.
  private(set) var isOther = false

  init(_ request: HTTPRequest, _ key: CacheKey, in cache: HTTPCache) {
    self.request = request
    self.key = key
    demand = CacheDemand(request)
    now = cache.now
    let (found, generation) = cache.find(key, for: request)
    self.generation = generation
    switch found {
    case .entry(let entry): use(entry)
    case .others: isOther = true
    case .nothing: break
    }
  }

  /// Returns the search after the files were read. Another load may have stored a response in the meantime.
  func continued(with read: CacheEntry?, in cache: HTTPCache) -> CacheSearch {
    var search = CacheSearch(request, key, in: cache)
    // If all responses were removed, this load is one from before that.
    if search.entry == nil, let read, search.generation == generation {
      search.use(read)
      cache.store(read, for: request, generation: generation, isRead: true)
    }
    search.generation = generation
    return search
  }

  /// Uses an entry, unless the request accepts no body of this size: the transport then fails with the code of such a body.
  private mutating func use(_ entry: CacheEntry) {
    if entry.body.count <= request.delivery.maximumSize ?? .max { self.entry = entry }
  }

  var withoutEntry: CacheSearch {
    var search = self
    search.entry = nil
    return search
  }
}
