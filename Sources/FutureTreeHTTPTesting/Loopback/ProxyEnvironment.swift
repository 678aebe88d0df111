#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Exempts loopback from a proxy that the environment names: `URLSession` on Linux would ask that proxy for 127.0.0.1.
enum ProxyEnvironment {
  /// Done once in a process, and only if a proxy is named.
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
