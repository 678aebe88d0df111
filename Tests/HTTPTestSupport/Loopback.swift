import Foundation
import FutureTreeHTTP
import FutureTreeHTTPTesting

/// Servers for tests that work with any proxy in the environment. Every host is exempted before the first server is created,
/// so that unknown hosts are resolved directly and not by a proxy.
package enum Loopback {
  package static func server() throws -> LoopbackServer {
    _ = exemptEveryHost
    return try LoopbackServer()
  }

  private static let exemptEveryHost: Void = {
    setenv("no_proxy", "*", 1)
    setenv("NO_PROXY", "*", 1)
  }()
}

extension SystemLoader.Configuration {
  /// No deadline: see `URLSessionLoader.Configuration.patient`.
  package static var patient: Self { Self(timeout: nil) }
}

extension URLSessionLoader.Configuration {
  /// No deadline: on a busy machine, a test can wait longer for a thread than for a server.
  package static var patient: Self { Self(timeout: nil) }
}
