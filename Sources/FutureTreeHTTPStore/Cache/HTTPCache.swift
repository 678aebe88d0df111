import Foundation
import FutureTree
import FutureTreeHTTP

/// A private cache of responses, in memory or also in files (RFC 9111).
///
/// ```swift
/// let cache = HTTPCache()
/// let api = ResetGuard() --> Autocancel() --> Retry() --> CacheResponses(in: cache) --> SystemLoader()
/// ```
///
/// ``CacheResponses`` uses it. One cache can be part of several chains.
///
/// **Users.** Responses are separated by the credentials of their requests, such as `Authorization`, `X-Api-Key` and `Cookie`: a
/// response to one user never answers another. ``CacheResponses`` lists them.
///
/// **Limits.** If the responses have too many bytes, those that were not used for the longest time are removed. For each URL and
/// user, at most 32 responses are stored that differ in the fields that `Vary` names.
///
/// **Files.** A cache with a directory also stores its responses in files, and later processes use them. Each file is replaced as a
/// whole, so that a crash leaves the old or the new response, and contains a digest of its content. A damaged file is reported once
/// and removed, and the response is loaded again: no load fails because of a file. Only the current user can read the files.
/// The directory is locked: a second cache for it, also one of another process, is an error. Files are read and written on an
/// executor. If the disk is slower than the responses arrive, some are stored only in memory.
///
/// A cache can be used from any thread.
public final class HTTPCache: Sendable {
  /// The maximum sizes, in bytes. Values below 0 are treated as 0.
  public struct Limits: Sendable, Hashable {
    /// The maximum size of all responses in memory, with their header fields.
    public var total: Int
    /// The maximum size of one response. A larger response is not stored.
    public var perEntry: Int
    /// The maximum size of all responses in files, for a cache with a directory.
    public var onDisk: Int

    /// Creates limits. They default to 32 MiB in memory, 4 MiB for each response, and 256 MiB in files.
    public init(total: Int = 32 << 20, perEntry: Int = 4 << 20, onDisk: Int = 256 << 20) {
      self.total = max(0, total)
      self.perEntry = max(0, perEntry)
      self.onDisk = max(0, onDisk)
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
  private let files: CacheDirectory?
  private let date: WallClock
  let limits: Limits

  /// Creates an empty cache in memory.
  ///
  /// - Parameters:
  ///   - limits: The maximum sizes.
  ///   - date: The clock for the age of responses.
  public convenience init(limits: Limits = Limits(), date: WallClock = .system) {
    self.init(limits, date, files: nil)
  }

  /// Creates a cache with the responses of a directory. It reads the names of the files on the current thread.
  ///
  /// ```swift
  /// let directory = URL(filePath: "/var/cache/app/responses")
  /// let cache = try HTTPCache(directory: directory) { fault in print("cache: \(fault)") }
  /// ```
  ///
  /// - Parameters:
  ///   - directory: The directory, which is created if it is missing. The cache must be the only user of it.
  ///   - limits: The maximum sizes.
  ///   - date: The clock for the age of responses.
  ///   - executor: The executor on which files are read and written. It may block. Defaults to a global queue.
  ///   - random: The source of the names of files.
  ///   - onFault: The closure that receives an `HTTPError` with the code `storeFailed` if a file is damaged, or cannot be read or
  ///     written. Of several faults of writing in a row, it receives the first. It is called outside every lock, on the current
  ///     thread for faults of opening, and on the executor for others.
  /// - Throws: `HTTPError` with the code `storeFailed` if another cache uses the directory, if other users can read or replace
  ///   files in it, or if files of an earlier reset cannot be removed.
  public convenience init(
    directory: URL, limits: Limits = Limits(), date: WallClock = .system,
    on executor: FutureExecutor = .global(), random: RandomSource = .system,
    onFault: @escaping @Sendable (HTTPError) -> Void
  ) throws(HTTPError) {
    self.init(limits, date, files: try CacheDirectory(directory, limits, on: executor, random, onFault))
  }

  private init(_ limits: Limits, _ date: WallClock, files: CacheDirectory?) {
    self.limits = limits
    self.date = date
    self.files = files
    guarded = Locked(Guarded(state: CacheState(limits)))
  }

  /// The number of responses in memory.
  public var count: Int { guarded.withLock { $0.state.count } }

  /// The size of all responses in memory, in bytes, as it is limited.
  public var size: Int { guarded.withLock { $0.state.size } }

  /// The size of all responses in files, in bytes, as it is limited.
  public var sizeOnDisk: Int { files?.size ?? 0 }

  /// The numbers of requests since the cache was created.
  public var counts: Counts { guarded.withLock { $0.counts } }

  /// Removes the responses for a URL, those of all users.
  public func remove(_ url: HTTPURL) {
    let key = CacheKey.text(of: url)
    guarded.withLock { $0.state.remove(key) }
    files?.remove(key)
  }

  /// Waits until all changes are in the files, for example before the process ends.
  ///
  /// - Returns: A future that fails with the code `storeFailed` if the last write failed.
  public func flush() -> Future<Void> { files?.flush() ?? .succeeded }

  /// Removes all responses, in memory at once and then in the files. Loads in flight store nothing.
  ///
  /// - Returns: A future that fails with the code `storeFailed` if the files cannot be removed.
  @discardableResult
  public func removeAll() -> Future<Void> { removeAll(nil) }

  func removeAll(_ notes: ResetNotes?) -> Future<Void> {
    let removed = guarded.withLock { guarded in
      defer {
        guarded.state.removeAll()
        guarded.generation += 1
      }
      return guarded.state
    }
    // The responses are released here, not under the lock.
    notes?.wiped(removed.count, "response")
    return files?.removeAll().map { notes?.wiped("the files of the cache") } ?? .succeeded
  }
}

extension HTTPCache {
  /// The current time, in seconds since 1970.
  var now: Double { date.now.timeIntervalSince1970 }

  func find(_ key: CacheKey, for request: HTTPRequest) -> (found: CacheState.Found, generation: Int) {
    guarded.withLock { ($0.state.find(key, for: request), $0.generation) }
  }

  /// Returns a future of the response in a file that a request selects. `nil` if there is none.
  func read(_ key: CacheKey, for request: HTTPRequest) -> Future<CacheEntry?>? { files?.read(key, for: request) }

  /// Stores a response, unless all responses were removed since `generation`.
  ///
  /// - Parameter isRead: Whether the response was read from its file.
  /// - Returns: Whether it was stored.
  @discardableResult
  func store(_ entry: CacheEntry, for request: HTTPRequest, generation: Int, isRead: Bool = false) -> Bool {
    let (isStored, replaced) = guarded.withLock { guarded -> (Bool, [CacheEntry]) in
      guard guarded.generation == generation else { return (false, []) }
      return guarded.state.store(entry, for: request)
    }
    let isWritten = !isRead && files?.store(entry, replacing: replaced, generation: generation) == true
    return isStored || isWritten
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
