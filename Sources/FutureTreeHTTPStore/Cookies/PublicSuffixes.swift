import Foundation
import FutureTreeHTTP

/// The domains for which nobody may set cookies, such as `com` and `co.uk`, because their subdomains belong to different owners.
///
/// ```swift
/// let list = try String(contentsOf: URL(filePath: "public_suffix_list.dat"), encoding: .utf8)
/// let jar = CookieJar(publicSuffixes: PublicSuffixes(list: list))
/// ```
///
/// The list is not part of this package, because it changes weekly. See <https://publicsuffix.org/list/>. Without a list, only
/// domains with one label (`com`, `localhost`) and addresses are refused. A server of `a.co.uk` can then set a cookie for all of
/// `co.uk`. That is harmless if the loader requests only servers that trust each other.
public struct PublicSuffixes: Sendable {
  private var rules: Set<Substring> = []
  /// The rules `*.domain`, without `*.`.
  private var wildcards: Set<Substring> = []
  /// The rules `!domain`, without `!`.
  private var exceptions: Set<Substring> = []

  /// No list: domains with one label, and addresses.
  public static let singleLabels = PublicSuffixes(list: "")

  /// Parses a list in the format of `public_suffix_list.dat`. International domains are converted to Punycode.
  ///
  /// - Complexity: O(n) for n lines.
  public init(list: String) {
    for line in list.split(whereSeparator: \.isNewline) {
      guard let rule = line.split(whereSeparator: \.isWhitespace).first, !line.hasPrefix("//") else { continue }
      let (kind, domain) = PublicSuffixes.split(rule)
      guard let ascii = PublicSuffixes.ascii(domain) else { continue }
      switch kind {
      case .rule: rules.insert(ascii)
      case .wildcard: wildcards.insert(ascii)
      case .exception: exceptions.insert(ascii)
      }
    }
  }

  private enum Kind {
    case rule, wildcard, exception
  }

  private static func split(_ rule: Substring) -> (Kind, Substring) {
    if rule.hasPrefix("!") { return (.exception, rule.dropFirst()) }
    if rule.hasPrefix("*.") { return (.wildcard, rule.dropFirst(2)) }
    return (.rule, rule.hasPrefix(".") ? rule.dropFirst() : rule)
  }

  private static func ascii(_ domain: Substring) -> Substring? {
    guard !domain.utf8.allSatisfy({ $0 < 0x80 }) else { return domain.lowercased()[...] }
    return InternationalHost.ascii(domain).map { $0[...] }
  }

  /// Returns whether no cookie may be set for a domain.
  ///
  /// - Parameter domain: A host in lower case. International domains are in Punycode.
  public func contains(_ domain: String) -> Bool {
    if exceptions.contains(domain[...]) { return false }
    guard let period = domain.utf8.firstIndex(of: UInt8(ascii: ".")) else { return true }
    return rules.contains(domain[...]) || wildcards.contains(domain[period...].dropFirst())
  }
}
