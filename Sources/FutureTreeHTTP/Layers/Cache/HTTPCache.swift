import Foundation
import FutureTree

/// A private cache of responses in memory (RFC 9111).
///
/// ```swift
/// let cache = HTTPCache()
/// let api = ResetGuard() --> Autocancel() --> Retry() --> CacheResponses(in: cache) --> URLSessionLoader()
/// ```
///
/// ``CacheResponses`` uses it. One cache can be part of several chains.
///
/// **Users.** Responses are separated by the credentials in the header `Authorization`: a response to one user never answers
/// another. Cookies do not separate responses: use one cache for each user, or have the
/// server send `Vary: Cookie`.
///
/// **Limits.** If the responses have too many bytes, those that were not used for the longest time are removed.
///
/// A cache can be used from any thread.
public final class HTTPCache: Sendable {
  /// The maximum sizes, in bytes. Values below 0 are treated as 0.
  public struct Limits: Sendable, Hashable {
    /// The maximum size of all responses, with their header fields.
    public var total: Int
    /// The maximum size of one response. A larger response is not stored.
    public var perEntry: Int

    /// Creates limits. They default to 32 MiB, and 4 MiB for each response.
    public init(total: Int = 32 << 20, perEntry: Int = 4 << 20) {
      self.total = max(0, total)
      self.perEntry = max(0, perEntry)
    }
  }

  /// The numbers of requests, by what the cache did with them.
  public struct Counts: Sendable, Hashable {
    /// Requests that were answered from the cache, without the server.
    public internal(set) var hits = 0
    /// Requests that were sent because there was no usable response.
    public internal(set) var misses = 0
    /// Requests that were sent to validate a response.
    public internal(set) var validations = 0
    /// Requests that joined an identical request in flight.
    public internal(set) var shared = 0
  }

  private struct Guarded {
    var state: CacheState
    /// The number of wipes. A load from before a wipe stores nothing.
    var generation = 0
    var counts = Counts()
  }

  private let guarded: Locked<Guarded>
  private let date: WallClock
  let limits: Limits

  /// Creates an empty cache.
  ///
  /// - Parameters:
  ///   - limits: The maximum sizes.
  ///   - date: The clock for the age of responses.
  public init(limits: Limits = Limits(), date: WallClock = .system) {
    self.limits = limits
    self.date = date
    guarded = Locked(Guarded(state: CacheState(limits)))
  }

  /// The number of responses.
  public var count: Int { guarded.withLock { $0.state.count } }

  /// The size of all responses, in bytes, as it is limited.
  public var size: Int { guarded.withLock { $0.state.size } }

  /// The numbers of requests since the cache was created.
  public var counts: Counts { guarded.withLock { $0.counts } }

  /// Removes the responses for a URL, those of all users.
  public func remove(_ url: HTTPURL) {
    let key = CacheKey.text(of: url)
    guarded.withLock { $0.state.remove(key) }
  }

  /// Removes all responses. Loads in flight store nothing.
  ///
  /// - Returns: A future that succeeds.
  @discardableResult
  public func removeAll() -> Future<Void> {
    let removed = guarded.withLock { guarded in
      defer {
        guarded.state.removeAll()
        guarded.generation += 1
      }
      return guarded.state
    }
    _ = removed  // Released here, not under the lock.
    return .succeeded
  }
}

extension HTTPCache {
  /// The current time, in seconds since 1970.
  var now: Double { date.now.timeIntervalSince1970 }

  func find(_ key: CacheKey, for request: HTTPRequest) -> (found: CacheState.Found, generation: Int) {
    guarded.withLock { ($0.state.find(key, for: request), $0.generation) }
  }

  /// Stores a response, unless all responses were removed since `generation`.
  @discardableResult
  func store(_ entry: CacheEntry, for request: HTTPRequest, generation: Int) -> Bool {
    guarded.withLock { guarded in
      guard guarded.generation == generation else { return false }
      return guarded.state.store(entry, for: request)
    }
  }

  func count(_ body: (inout Counts) -> Void) {
    guarded.withLock { body(&$0.counts) }
  }
}

extension HTTPCache: CustomStringConvertible, CustomReflectable {
  /// The number of responses and their size.
  public var description: String { "HTTPCache(\(count) responses, \(size) bytes)" }

  public var customMirror: Mirror { Mirror(self, children: ["counts": counts], displayStyle: .class) }
}
