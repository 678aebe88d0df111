import Foundation
import FutureTreeHTTP
import FutureTreeHTTPTesting

/// Servers for tests that hold whatever proxy the environment names: before the first of them, every host is exempted, so
/// that an unknown host is asked of the resolver and not of a proxy.
enum Loopback {
  static func server() throws -> LoopbackServer {
    _ = exemptEveryHost
    return try LoopbackServer()
  }

  private static let exemptEveryHost: Void = {
    setenv("no_proxy", "*", 1)
    setenv("NO_PROXY", "*", 1)
  }()
}

extension URLSessionLoader.Configuration {
  /// Without a deadline: on a busy machine a test may wait for a thread longer than for a server.
  static var patient: Self { Self(timeout: nil) }
}
