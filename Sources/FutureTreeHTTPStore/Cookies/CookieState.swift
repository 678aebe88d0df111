import Foundation
import FutureTreeHTTP

/// The cookies of a jar (RFC 6265bis, sections 5.7 and 5.8.3). Pure: reads no clock, takes no lock, writes no file.
///
/// # Invariants
/// 1. `domains[domain]` has only cookies of that domain, and is never empty.
/// 2. Two cookies have different keys.
/// 3. After `store`, no limit is exceeded. An expired cookie is never sent.
struct CookieState {
  typealias Cookie = CookieJar.Cookie

  /// The longest lifetime of a cookie, in seconds (RFC 6265bis, section 5.5).
  static let maximumLifetime: TimeInterval = 400 * 86_400

  private let limits: CookieJar.Limits
  private let publicSuffixes: PublicSuffixes
  private var domains: [String: [Cookie]] = [:]
  private var lastNumber = 0

  init(_ limits: CookieJar.Limits, _ publicSuffixes: PublicSuffixes) {
    self.limits = limits
    self.publicSuffixes = publicSuffixes
  }

  /// All cookies, in the order of their creation.
  private var cookies: [Cookie] { domains.values.joined().sorted { $0.creation < $1.creation } }

  /// The cookies that have not expired, in the order of their creation.
  func cookies(now: Date) -> [Cookie] { cookies.filter { !$0.hasExpired(now) } }

  /// The number of cookies, including expired cookies.
  var count: Int { domains.values.reduce(0) { $0 + $1.count } }

  /// Adds the cookies of an earlier run. Their limits and expiry are checked again.
  mutating func restore(_ cookies: [Cookie], now: Date) {
    lastNumber = cookies.reduce(0) { max($0, $1.creation, $1.lastUse) }
    for cookie in cookies.sorted(by: { $0.creation < $1.creation }) {
      domains[cookie.domain]?.removeAll { $0.key == cookie.key }
      domains[cookie.domain, default: []].append(cookie)
      evict(from: cookie.domain, now)
    }
  }

  mutating func removeAll() { domains = [:] }

  private mutating func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }
}

// MARK: - Storing

extension CookieState {
  /// Stores a cookie that a response has set (section 5.7).
  ///
  /// - Returns: Whether the cookies have changed.
  mutating func store(_ new: SetCookie, from url: HTTPURL, now: Date) -> Bool {
    guard let (domain, isHostOnly) = domain(of: new, from: url) else { return false }
    let path = new.path ?? CookiePath.standard(of: url)
    guard isAllowed(new, domain: domain, isHostOnly: isHostOnly, path: path, from: url) else { return false }
    let key = Cookie.Key(name: Array(new.name.utf8), domain: domain, isHostOnly: isHostOnly, path: path)
    let old = domains[domain]?.first { $0.key == key }
    let number = nextNumber()
    let cookie = Cookie(
      name: new.name, value: new.value, domain: domain, isHostOnly: isHostOnly, path: path,
      expires: CookieState.expiry(of: new, now: now), isSecure: new.isSecure, isHTTPOnly: new.isHTTPOnly,
      sameSite: new.sameSite, creation: old?.creation ?? number, lastUse: number)
    domains[domain, default: []].removeAll { $0.key == key }
    domains[domain, default: []].append(cookie)
    evict(from: domain, now)
    return old != nil || domains[domain]?.contains { $0.key == key } == true
  }

  /// Returns the domain of a cookie, or `nil` if the URL must not set cookies for it.
  private func domain(of new: SetCookie, from url: HTTPURL) -> (String, isHostOnly: Bool)? {
    guard !new.domain.isEmpty else { return (url.host, true) }
    guard !publicSuffixes.contains(new.domain) else {
      return new.domain == url.host ? (url.host, true) : nil
    }
    return CookieState.host(url.host, isIn: new.domain) ? (new.domain, false) : nil
  }

  private func isAllowed(
    _ new: SetCookie, domain: String, isHostOnly: Bool, path: String, from url: HTTPURL
  ) -> Bool {
    if !url.isSecureForCookies {
      guard !new.isSecure, !hasSecureCookie(new.name, domain, path) else { return false }
    }
    if new.sameSite == .none, !new.isSecure { return false }
    return CookiePrefix.allows(new, isHostOnly: isHostOnly)
  }

  /// Returns whether a cookie from an insecure connection would replace or hide a secure cookie.
  private func hasSecureCookie(_ name: String, _ domain: String, _ path: String) -> Bool {
    domains.contains { other, cookies in
      (CookieState.host(other, isIn: domain) || CookieState.host(domain, isIn: other))
        && cookies.contains {
          $0.isSecure && FieldSyntax.haveSameBytes($0.name, name) && CookiePath.isPath(path, in: $0.path)
        }
    }
  }

  private static func expiry(of new: SetCookie, now: Date) -> Date? {
    let latest = now + maximumLifetime
    if let seconds = new.maxAge { return seconds <= 0 ? .distantPast : min(now + TimeInterval(seconds), latest) }
    return new.expires.map { min($0, latest) }
  }

  /// Whether a host is a domain, or in it (section 5.1.3). A host that is an address is only in itself.
  static func host(_ host: String, isIn domain: String) -> Bool {
    host == domain || (host.hasSuffix("." + domain) && !HTTPURL.isAddress(host))
  }
}

// MARK: - Sending

extension CookieState {
  /// Returns the value of the field `Cookie` for a request (section 5.8.3). `nil` if there is no cookie for it.
  mutating func header(for url: HTTPURL, now: Date) -> String? {
    let sent = cookies(for: url, now: now)
    guard !sent.isEmpty else { return nil }
    let number = nextNumber()
    for cookie in sent {
      guard let index = domains[cookie.domain]?.firstIndex(where: { $0.creation == cookie.creation }) else { continue }
      domains[cookie.domain]?[index].lastUse = number
    }
    return sent.map { $0.name.isEmpty ? $0.value : "\($0.name)=\($0.value)" }.joined(separator: "; ")
  }

  /// Returns the cookies for a request: those with longer paths first, and then those that were created first.
  func cookies(for url: HTTPURL, now: Date) -> [Cookie] {
    var found: [Cookie] = []
    var domain: Substring? = url.host[...]
    while let current = domain {
      found += (domains[String(current)] ?? []).filter { cookie in
        (!cookie.isHostOnly || cookie.domain == url.host) && CookiePath.isPath(url.path, in: cookie.path)
          && (!cookie.isSecure || url.isSecureForCookies) && !cookie.hasExpired(now)
      }
      guard !url.hostIsAddress else { break }
      domain = current.firstIndex(of: ".").map { current[$0...].dropFirst() }
    }
    return found.sorted { first, second in
      let lengths = (first.path.utf8.count, second.path.utf8.count)
      return lengths.0 == lengths.1 ? first.creation < second.creation : lengths.0 > lengths.1
    }
  }
}

// MARK: - Removing

extension CookieState {
  /// Removes cookies of a domain beyond its limit, and then cookies of all domains beyond theirs. Expired cookies go first, and
  /// then those that were not used for the longest time (section 5.7).
  ///
  /// In a domain with too many cookies, those without `Secure` go before the others.
  private mutating func evict(from domain: String, _ now: Date) {
    keep(limits.perDomain, of: domain, now)
    guard count > limits.total else { return }
    for domain in Array(domains.keys) { keep(limits.perDomain, of: domain, now) }
    for cookie in cookies.sorted(by: { $0.lastUse < $1.lastUse }).prefix(max(0, count - limits.total)) {
      domains[cookie.domain]?.removeAll { $0.key == cookie.key }
      if domains[cookie.domain]?.isEmpty == true { domains[cookie.domain] = nil }
    }
  }

  private mutating func keep(_ limit: Int, of domain: String, _ now: Date) {
    var kept = (domains[domain] ?? []).filter { !$0.hasExpired(now) }
    if kept.count > limit {
      kept.sort { $0.isSecure == $1.isSecure ? $0.lastUse > $1.lastUse : $0.isSecure }
      kept.removeLast(kept.count - limit)
    }
    domains[domain] = kept.isEmpty ? nil : kept
  }
}

extension CookieJar.Cookie {
  fileprivate func hasExpired(_ now: Date) -> Bool { expires.map { $0 <= now } ?? false }
}
