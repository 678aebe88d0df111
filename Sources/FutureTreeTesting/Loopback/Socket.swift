#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The calls of POSIX that a loopback server needs, on sockets that never block.
enum Socket {
  enum Reading {
    case bytes([UInt8])
    case nothingYet
    /// The peer closed or reset the connection.
    case ended
  }

  /// Listens on 127.0.0.1, on a port that the system chooses.
  static func listen() throws -> (descriptor: Int32, port: UInt16) {
    #if canImport(Darwin)
      let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #elseif canImport(Musl)
      let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #else
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #endif
    guard descriptor >= 0 else { throw LoopbackServerError(call: "socket", number: errno) }
    var address = sockaddr_in()
    #if canImport(Darwin)
      address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
    #endif
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard bind(descriptor, address, length) == 0 else { return "bind" }
        guard systemListen(descriptor, 1_024) == 0 else { return "listen" }
        return getsockname(descriptor, address, &length) == 0 ? "" : "getsockname"
      }
    }
    guard status.isEmpty else {
      let error = LoopbackServerError(call: status, number: errno)
      close(descriptor)
      throw error
    }
    neverBlock(descriptor)
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  enum Accepting {
    case connection(Int32)
    case noneWaits
    /// One waits, and the process has no descriptor left for it.
    case noDescriptor
  }

  static func accept(on listener: Int32) -> Accepting {
    let descriptor = systemAccept(listener, nil, nil)
    guard descriptor >= 0 else { return errno == EMFILE || errno == ENFILE ? .noDescriptor : .noneWaits }
    neverBlock(descriptor)
    #if canImport(Darwin)
      var on: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    #endif
    return .connection(descriptor)
  }

  static func read(_ descriptor: Int32) -> Reading {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    if count > 0 { return .bytes(Array(buffer.prefix(count))) }
    if count == 0 { return .ended }
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? .nothingYet : .ended
  }

  /// Sends what fits. Returns how much that was, or nil if the connection is gone.
  static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Int? {
    #if canImport(Darwin)
      let flags: Int32 = 0
    #else
      let flags = Int32(MSG_NOSIGNAL)
    #endif
    let count = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, flags) }
    if count >= 0 { return count }
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : nil
  }

  /// Makes the next `close` send a reset (RST).
  static func resetOnClose(_ descriptor: Int32) {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }

  static func closeDescriptor(_ descriptor: Int32) {
    close(descriptor)
  }

  private static func neverBlock(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL, 0) | O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }
}

// The functions of the system whose names are taken inside `Socket`.
private func systemListen(_ descriptor: Int32, _ backlog: Int32) -> Int32 { listen(descriptor, backlog) }

private func systemAccept(
  _ listener: Int32, _ address: UnsafeMutablePointer<sockaddr>?, _ length: UnsafeMutablePointer<socklen_t>?
) -> Int32 { accept(listener, address, length) }

/// The system refused what a loopback server needs.
public struct LoopbackServerError: Error, Hashable, CustomStringConvertible {
  /// The call that failed.
  public let call: String
  /// The number of the error (`errno`).
  public let number: Int32

  public var description: String { "\(call) failed: \(String(cString: strerror(number)))" }
}

/// Exempts loopback from a proxy that the environment names: `URLSession` on Linux would ask that proxy for 127.0.0.1.
enum ProxyEnvironment {
  static let exemptLoopback: Void = {
    for name in ["no_proxy", "NO_PROXY"] {
      let current = getenv(name).map { String(cString: $0) } ?? ""
      guard current != "*" else { continue }
      setenv(name, current.isEmpty ? "127.0.0.1,localhost" : current + ",127.0.0.1,localhost", 1)
    }
  }()
}
