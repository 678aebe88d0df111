import FutureTree

#if canImport(FoundationNetworking)
  import Foundation
#endif

/// The proxy that the environment of the process names for a URL. On Linux, libcurl reads the same variables.
///
/// | variables, in this order | requests |
/// | --- | --- |
/// | `http_proxy` | `http` |
/// | `https_proxy`, `HTTPS_PROXY` | `https` |
/// | `all_proxy`, `ALL_PROXY` | both |
/// | `no_proxy`, `NO_PROXY` | hosts without a proxy, and the hosts below them |
///
/// libcurl does not read `HTTP_PROXY`. Its newer versions also accept ranges of addresses in `no_proxy`, which are ignored here:
/// the result can be a proxy that is not used.
struct EnvironmentProxy: Sendable, Equatable {
  /// The host and the port, without the user and the password, as errors show them.
  let name: String
  /// The host and the port as they are written in the environment.
  let address: String
  /// Whether a request to the proxy begins with `CONNECT` (RFC 9110, section 9.3.6).
  let opensTunnel: Bool
  /// Whether the proxy uses the protocol SOCKS.
  let isSOCKS: Bool

  /// Returns `nil` if a request for the URL is sent without a proxy.
  ///
  /// - Parameter variable: Returns the value of a variable.
  init?(for url: HTTPURL, _ variable: (String) -> String?) {
    func first(_ names: [String]) -> String? { names.lazy.compactMap(variable).first { !$0.isEmpty } }
    let names = url.scheme == .https ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
    guard let value = first(names + ["all_proxy", "ALL_PROXY"]),
      !EnvironmentProxy.excludes(url.host, first(["no_proxy", "NO_PROXY"]) ?? "")
    else { return nil }
    let parts = value.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
    let rest = parts.last?.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    address = String(rest.prefix { !"/?#".contains($0) })
    name = FieldSyntax.visible(address)
    isSOCKS = value.lowercased().hasPrefix("socks")
    opensTunnel = url.scheme == .https && !isSOCKS
  }

  private static func excludes(_ host: String, _ list: String) -> Bool {
    if list == "*" { return true }
    let host = host.lowercased()
    return list.lowercased().split { $0 == "," || $0.isWhitespace }.contains { entry in
      let entry = entry.drop { $0 == "." }
      return !entry.isEmpty && (host == entry || host.hasSuffix("." + entry))
    }
  }

  #if canImport(FoundationNetworking)
    /// Returns the value of a variable of the process.
    static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
  #endif

  /// Returns the proxy for a URL. `nil` on platforms that do not read it from the environment.
  static func current(for url: HTTPURL?) -> EnvironmentProxy? {
    #if canImport(FoundationNetworking)
      url.flatMap { EnvironmentProxy(for: $0, variable) }
    #else
      nil
    #endif
  }
}
