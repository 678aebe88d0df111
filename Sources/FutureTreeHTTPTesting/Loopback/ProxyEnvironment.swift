import Foundation

/// Exempts loopback from a proxy that the environment names. Otherwise `URLSession` on Linux sends requests for 127.0.0.1 to
/// that proxy.
enum ProxyEnvironment {
  /// Changes the environment once per process, and only if it names a proxy.
  static let exemptLoopback: Void = {
    let proxies = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
    guard proxies.contains(where: { (name: String) in getenv(name) != nil }) else { return }
    for name in ["no_proxy", "NO_PROXY"] {
      let current = getenv(name).map { String(cString: $0) } ?? ""
      guard current != "*" else { continue }
      setenv(name, current.isEmpty ? "127.0.0.1,localhost" : current + ",127.0.0.1,localhost", 1)
    }
  }()
}
