import FutureTree
import FutureTreeHTTP

/// A port on 127.0.0.1 that refuses every connection.
///
/// ```swift
/// let down = try RefusingPort()
///
/// let load = api.load(try HTTPRequest(down.url("/users/1")))
///
/// let error = await #expect(throws: HTTPError.self) { try await load.value }
/// #expect(error?.code == .cannotConnect)
/// ```
///
/// The port belongs to this object until the object is deallocated, so keep a reference for the whole test. No server can
/// listen on it, neither in this process nor in another. The port of a stopped server has no such guarantee: the system can give
/// it to another server at any time. A test that loads from it then reaches that server.
///
/// - Note: All members can be used from any thread.
/// - Note: If the environment names a proxy, the first object of a process adds loopback to `no_proxy`, as ``LoopbackServer``
///   does.
public final class RefusingPort: Sendable {
  /// The number of the port, chosen by the system.
  public let port: Int

  /// The local end of a connection, whose port refuses others.
  private let descriptor: Int32
  /// The other end. It is never accepted.
  private let listener: Int32

  /// Takes a free port.
  ///
  /// The object uses two descriptors.
  ///
  /// - Throws: `LoopbackServerError` if the system refuses a socket.
  public init() throws(LoopbackServerError) {
    ProxyEnvironment.exemptLoopback
    // A socket that is only bound refuses connections on Linux. macOS ignores them, so that each waits for a minute. On both
    // systems, the port of a connected socket refuses other connections.
    let (listener, peer) = try Socket.listenOnLoopback()
    do {
      let (descriptor, port) = try Socket.connectOnLoopback(to: peer)
      (self.listener, self.descriptor, self.port) = (listener, descriptor, Int(port))
    } catch {
      Socket.closeDescriptor(listener)
      throw error
    }
  }

  deinit {
    Socket.closeDescriptor(descriptor)
    Socket.closeDescriptor(listener)
  }

  /// Returns the URL of a path on this port. The path begins with a slash.
  public func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

  /// The environment that sends requests without a host to this port.
  ///
  /// ```swift
  /// let api = ApplyEnvironment(down.environment) --> Retry(.immediately()) --> URLSessionLoader()
  /// ```
  public var environment: ServerEnvironment { .loopback(port: port) }
}

extension ServerEnvironment {
  /// Sends requests without a host to a port on 127.0.0.1.
  static func loopback(port: Int) -> ServerEnvironment {
    do {
      return try ServerEnvironment(scheme: .http, host: "127.0.0.1", port: UInt16(port))
    } catch { preconditionFailure("The address of a port on loopback is valid: \(error)") }
  }
}
