import Foundation
import FutureTree
import FutureTreeHTTP

/// The cookies of one user, in memory or in a file (RFC 6265bis).
///
/// ```swift
/// let jar = CookieJar()
/// let api = ResetGuard() --> Autocancel() --> Redirect() --> StoreCookies(in: jar) --> SystemLoader()
/// ```
///
/// ``StoreCookies`` sends its cookies and stores new ones. One jar can be part of several chains.
///
/// **Domains.** A cookie without the attribute `Domain` is sent only to the host that set it. A cookie with it is sent to a domain
/// and its subdomains. The host must be in the domain, and the domain must not be in ``PublicSuffixes``. Cookies are not separated
/// by port: two servers on one host share them. `Secure` cookies are sent over `https` and to this machine (`localhost`,
/// `127.x.x.x`, `[::1]`). An insecure connection neither sets nor replaces them.
///
/// **Limits.** A cookie lives for at most 400 days. Its name and value have at most 4096 bytes. If there are too many cookies,
/// those that were not used for the longest time are removed.
///
/// **Files.** A jar with a file reads it when it is created, and writes changes on a background thread. Changes that follow each
/// other can be one write. Only cookies with an expiry are in the file. It is replaced as a whole, so that a crash leaves the old or
/// the new cookies, and only the current user can read it. A file that another user can read or replace is not used: a symbolic
/// link, a file or a directory of another user, a file that the group or others can read, and a directory that they can write to.
/// Use one jar for each file: of two jars, the last one to write wins. If the file cannot be read or written, the fault is reported
/// to a closure, and no load fails.
public final class CookieJar: Sendable {
  /// The maximum numbers of cookies. Values below 0 are treated as 0.
  public struct Limits: Sendable, Hashable {
    /// The maximum number of cookies with the same domain.
    public var perDomain: Int
    /// The maximum number of all cookies.
    public var total: Int

    /// Creates limits. They default to 180 cookies for each domain, and 3,000 in total.
    public init(perDomain: Int = 180, total: Int = 3000) {
      self.perDomain = max(0, perDomain)
      self.total = max(0, total)
    }
  }

  private struct Guarded {
    var state: CookieState
    /// The number of resets. A load from before a reset stores nothing.
    var generation = 0
    /// The number of changes. A newer number is written over an older one.
    var version = 0
  }

  private let guarded: Locked<Guarded>
  private let file: CookieFile?
  private let date: WallClock

  /// Creates an empty jar in memory.
  ///
  /// - Parameters:
  ///   - limits: The maximum numbers of cookies.
  ///   - publicSuffixes: The domains for which nobody may set cookies.
  ///   - date: The clock for the expiry of cookies.
  public convenience init(
    limits: Limits = Limits(), publicSuffixes: PublicSuffixes = .singleLabels, date: WallClock = .system
  ) {
    self.init(limits, publicSuffixes, date, file: nil)
  }

  /// Creates a jar with the cookies of a file. It reads the file on the current thread.
  ///
  /// ```swift
  /// let file = URL(filePath: "/var/lib/app/cookies")
  /// let jar = CookieJar(file: file) { fault in print("cookies: \(fault)") }
  /// ```
  ///
  /// - Parameters:
  ///   - file: The file. It is created with the first cookie, and so is its directory.
  ///   - limits: The maximum numbers of cookies.
  ///   - publicSuffixes: The domains for which nobody may set cookies.
  ///   - date: The clock for the expiry of cookies.
  ///   - onFault: The closure that receives an `HTTPError` with the code `storeFailed` if the file is damaged or cannot be read or
  ///     written. A damaged file is reported once, and replaced. It is called outside every lock, on the current thread for faults
  ///     of reading, and on a background thread for faults of writing.
  public convenience init(
    file: URL, limits: Limits = Limits(), publicSuffixes: PublicSuffixes = .singleLabels, date: WallClock = .system,
    onFault: @escaping @Sendable (HTTPError) -> Void
  ) {
    self.init(limits, publicSuffixes, date, file: CookieFile(file, onFault))
  }

  private init(_ limits: Limits, _ publicSuffixes: PublicSuffixes, _ date: WallClock, file: CookieFile?) {
    self.file = file
    self.date = date
    var state = CookieState(limits, publicSuffixes)
    let read = file?.read()
    state.restore(read?.cookies ?? [], now: date.now)
    guarded = Locked(Guarded(state: state))
    if read?.isDamaged == true { file?.write([], version: 0) }
  }

  /// The cookies that have not expired, in the order of their creation.
  public var cookies: [Cookie] {
    let now = date.now
    return guarded.withLock { $0.state.cookies(now: now) }
  }

  /// Returns the cookies that a request to a URL receives, in the order in which they are sent.
  public func cookies(for url: HTTPURL) -> [Cookie] {
    let now = date.now
    return guarded.withLock { $0.state.cookies(for: url, now: now) }
  }

  /// Stores a cookie as if a response from `url` had set it.
  ///
  /// ```swift
  /// let jar = CookieJar()
  /// jar.store("session=1; Secure; HttpOnly; Path=/", from: try HTTPURL("https://example.com/"))
  /// ```
  ///
  /// - Parameters:
  ///   - setCookie: A value of the field `Set-Cookie`.
  ///   - url: The URL of the response.
  /// - Returns: Whether the cookie was stored. The rules for domains, prefixes and insecure connections apply.
  @discardableResult
  public func store(_ setCookie: String, from url: HTTPURL) -> Bool {
    guard let cookie = SetCookie(setCookie) else { return false }
    return store([cookie], from: url, generation: nil)
  }

  /// Removes all cookies, in memory at once and then in the file.
  ///
  /// - Returns: A future that fails with the code `storeFailed` if the file cannot be removed.
  @discardableResult
  public func removeAll() -> Future<Void> { removeAll(nil) }

  func removeAll(_ notes: ResetNotes?) -> Future<Void> {
    let (version, count) = guarded.withLock { guarded in
      defer { guarded.state.removeAll() }
      guarded.generation += 1
      guarded.version += 1
      return (guarded.version, guarded.state.count)
    }
    notes?.wiped(count, "cookie")
    guard let file else { return .succeeded }
    file.write([], version: version)
    return file.flush()
  }

  /// Waits until all changes are in the file.
  ///
  /// - Returns: A future that fails with the code `storeFailed` if the last write failed.
  public func flush() -> Future<Void> { file?.flush() ?? .succeeded }
}

extension CookieJar {
  /// Returns the cookies for a request, as the value of the field `Cookie`.
  func header(for url: HTTPURL) -> (value: String?, generation: Int) {
    let now = date.now
    return guarded.withLock { ($0.state.header(for: url, now: now), $0.generation) }
  }

  /// Stores the cookies of a response, unless all cookies were removed since `generation`.
  @discardableResult
  func store(_ cookies: [SetCookie], from url: HTTPURL, generation: Int?) -> Bool {
    let now = date.now
    let (isChanged, snapshot) = guarded.withLock { guarded -> (Bool, (cookies: [Cookie], version: Int)?) in
      guard generation ?? guarded.generation == guarded.generation else { return (false, nil) }
      var isChanged = false
      for cookie in cookies where guarded.state.store(cookie, from: url, now: now) { isChanged = true }
      guard isChanged, file != nil else { return (isChanged, nil) }
      guarded.version += 1
      return (true, (guarded.state.cookies(now: now), guarded.version))
    }
    if let snapshot { file?.write(snapshot.cookies.filter { $0.expires != nil }, version: snapshot.version) }
    return isChanged
  }
}

extension CookieJar: CustomStringConvertible, CustomReflectable {
  /// The number of cookies.
  public var description: String { "CookieJar(\(cookies.count) cookies)" }

  public var customMirror: Mirror { Mirror(self, children: ["cookies": cookies.count], displayStyle: .class) }
}

extension CookieJar {
  /// A stored cookie.
  public struct Cookie: Sendable, Hashable, Codable {
    /// The name. It can be empty.
    public let name: String
    /// The value. It is a secret, and no description contains it.
    public let value: String
    /// The host that receives the cookie, or the domain whose hosts receive it.
    public let domain: String
    /// Whether only the host itself receives the cookie. If `false`, its subdomains also receive it.
    public let isHostOnly: Bool
    /// The path whose requests receive the cookie, with all paths below it.
    public let path: String
    /// The date after which the cookie is deleted. `nil` if it lasts as long as the jar is in memory.
    public let expires: Date?
    /// Whether the cookie is sent only over encrypted connections and to this machine.
    public let isSecure: Bool
    /// Whether scripts of a browser must not read the cookie. It has no effect on a client without scripts.
    public let isHTTPOnly: Bool
    /// The requests with which a browser would send the cookie. A client without pages makes no cross-site requests, so this has
    /// no effect on requests.
    public let sameSite: SameSite
    /// The position of the cookie in the order of their creation.
    let creation: Int
    /// The position of the last request that received the cookie, in the same order.
    var lastUse: Int

    /// A cookie replaces a stored cookie with the same key. Names are compared by their bytes.
    struct Key: Hashable {
      let name: [UInt8]
      let domain: String
      let isHostOnly: Bool
      let path: String
    }

    var key: Key { Key(name: Array(name.utf8), domain: domain, isHostOnly: isHostOnly, path: path) }
  }

  /// The attribute `SameSite` of a cookie.
  public enum SameSite: String, Sendable, Codable {
    /// The attribute is missing or unknown.
    case unspecified = ""
    /// Requests from every site.
    case none
    /// Requests from the same site, and navigations from other sites.
    case lax
    /// Requests from the same site.
    case strict
  }
}

extension CookieJar.Cookie: CustomStringConvertible, CustomReflectable {
  /// The name, the domain and the path, without the value.
  public var description: String { "\(name)=… for \(domain)\(path)" }

  public var customMirror: Mirror { Mirror(self, children: ["cookie": description], displayStyle: .struct) }
}
