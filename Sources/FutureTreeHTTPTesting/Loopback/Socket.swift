import Foundation

#if canImport(Darwin)
  import Darwin
#endif

/// The error of a system call that a ``LoopbackServer`` or a ``RefusingPort`` needs.
public struct LoopbackServerError: Error, Hashable, CustomStringConvertible {
  /// The system call that failed.
  public let call: String
  /// The error number (`errno`).
  public let number: Int32

  public var description: String {
    "The system call \(call) failed with errno \(number). Check the limits of the process and its permission to use sockets."
  }
}

/// The POSIX calls that loopback servers and refusing ports need, on non-blocking sockets.
enum Socket {
  /// Listens on 127.0.0.1, on a port that the system chooses.
  static func listenOnLoopback() throws(LoopbackServerError) -> (descriptor: Int32, port: UInt16) {
    let bound = try bindToLoopback()
    guard listen(bound.descriptor, 1_024) == 0 else {
      let error = LoopbackServerError(call: "listen", number: errno)
      closeDescriptor(bound.descriptor)
      throw error
    }
    neverBlock(bound.descriptor)
    return bound
  }

  /// Connects from a port on 127.0.0.1 that the system chooses, to another port there.
  static func connectOnLoopback(to port: UInt16) throws(LoopbackServerError) -> (descriptor: Int32, port: UInt16) {
    let bound = try bindToLoopback()
    do {
      _ = try withLoopbackAddress(of: port, "connect") { connect(bound.descriptor, $0, $1.pointee) }
    } catch {
      closeDescriptor(bound.descriptor)
      throw error
    }
    neverBlock(bound.descriptor)
    return bound
  }

  private static func bindToLoopback() throws(LoopbackServerError) -> (descriptor: Int32, port: UInt16) {
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = Int32(SOCK_STREAM)
    #endif
    let descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { throw LoopbackServerError(call: "socket", number: errno) }
    do {
      _ = try withLoopbackAddress(of: 0, "bind") { bind(descriptor, $0, $1.pointee) }
      return (descriptor, try withLoopbackAddress(of: 0, "getsockname") { getsockname(descriptor, $0, $1) })
    } catch {
      closeDescriptor(descriptor)
      throw error
    }
  }

  /// Calls a function of the system with an address on 127.0.0.1.
  ///
  /// - Returns: The port of the address after the call.
  static func withLoopbackAddress(
    of port: UInt16, _ name: String, _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) throws(LoopbackServerError) -> UInt16 {
    var address = sockaddr_in()
    #if canImport(Darwin)
      address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
    #endif
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &length) }
    }
    guard status == 0 else { throw LoopbackServerError(call: name, number: errno) }
    return UInt16(bigEndian: address.sin_port)
  }

  enum Accepted {
    case connection(Int32)
    case noneWaits
    /// A connection is waiting, but the process or the system has no descriptor or memory for it.
    case exhausted
  }

  static func acceptConnection(on listener: Int32) -> Accepted {
    while true {
      let descriptor = accept(listener, nil, nil)
      if descriptor >= 0 {
        neverBlock(descriptor)
        setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))  // A packet for each piece of a drip.
        #if canImport(Darwin)
          setOption(descriptor, SOL_SOCKET, SO_NOSIGPIPE, Int32(1))
        #endif
        return .connection(descriptor)
      }
      switch errno {
      case EINTR, ECONNABORTED: continue
      case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
      default: return .noneWaits
      }
    }
  }

  enum Received {
    case bytes([UInt8])
    case nothingYet
    /// The peer closed or reset the connection.
    case ended
  }

  static func receive(from descriptor: Int32) -> Received {
    var status = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
      repeat { status = recv(descriptor, buffer.baseAddress, buffer.count, 0) } while status < 0 && errno == EINTR
      count = max(0, status)
    }
    if status > 0 { return .bytes(bytes) }
    if status == 0 { return .ended }
    return errno == EAGAIN || errno == EWOULDBLOCK ? .nothingYet : .ended
  }

  /// Sends as many bytes as the socket's buffer takes.
  ///
  /// - Returns: The number of bytes sent, or `nil` if the connection has ended.
  static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Int? {
    #if canImport(Darwin)
      let flags: Int32 = 0  // SO_NOSIGPIPE is set instead.
    #else
      let flags = Int32(MSG_NOSIGNAL)
    #endif
    while true {
      let count = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, flags) }
      if count >= 0 { return count }
      if errno == EAGAIN || errno == EWOULDBLOCK { return 0 }
      guard errno == EINTR else { return nil }
    }
  }

  /// Whether the peer has closed or reset the connection, even if earlier bytes are still unread.
  static func peerHasLeft(_ descriptor: Int32) -> Bool {
    #if os(Linux) || os(Android)
      let leaving: Int16 = 0x2000  // POLLRDHUP; its constant needs _GNU_SOURCE.
    #else
      let leaving = Int16(POLLHUP)  // Darwin reports it only if requested.
    #endif
    var entry = pollfd(fd: descriptor, events: leaving, revents: 0)
    guard poll(&entry, 1, 0) > 0 else { return false }
    return entry.revents & (leaving | Int16(POLLHUP) | Int16(POLLERR)) != 0
  }

  /// Sends FIN.
  static func finishSending(_ descriptor: Int32) {
    _ = shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Reads and drops pending bytes: closing a socket with unread bytes sends RST instead of FIN.
  static func drain(_ descriptor: Int32) {
    for _ in 0..<64 {
      guard case .bytes = receive(from: descriptor) else { return }
    }
  }

  /// Makes the next close send RST.
  static func resetOnClose(_ descriptor: Int32) {
    setOption(descriptor, SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
  }

  static func closeDescriptor(_ descriptor: Int32) {
    _ = close(descriptor)
  }

  /// Creates a pipe whose two ends never block.
  static func pipe() throws(LoopbackServerError) -> (read: Int32, write: Int32) {
    var ends: (Int32, Int32) = (0, 0)
    let status = withUnsafeMutableBytes(of: &ends) { systemPipe($0.assumingMemoryBound(to: Int32.self).baseAddress) }
    guard status == 0 else { throw LoopbackServerError(call: "pipe", number: errno) }
    neverBlock(ends.0)
    neverBlock(ends.1)
    return (ends.0, ends.1)
  }

  /// Writes a byte into a pipe. If the pipe is full, its bytes are enough to wake the reader.
  static func writeByte(to pipe: Int32) {
    var byte: UInt8 = 1
    _ = systemWrite(pipe, &byte, 1)
  }

  static func drainPipe(_ pipe: Int32) {
    var bytes = [UInt8](repeating: 0, count: 256)
    while read(pipe, &bytes, bytes.count) > 0 {}
  }

  /// Blocks the thread until one of the sockets is ready.
  static func waitForAny(of entries: inout [pollfd]) {
    let count = nfds_t(entries.count)
    while poll(&entries, count, -1) < 0 && errno == EINTR {}
  }

  /// Blocks the thread for ten milliseconds.
  static func nap() {
    _ = usleep(10_000)
  }

  private static func neverBlock(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL, 0) | O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  private static func setOption<Value>(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Value) {
    _ = withUnsafeBytes(of: value) { setsockopt(descriptor, level, name, $0.baseAddress, socklen_t($0.count)) }
  }
}

// System calls whose names `Socket` uses for its own functions.
private func systemPipe(_ ends: UnsafeMutablePointer<Int32>?) -> Int32 { ends.map { pipe($0) } ?? -1 }

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}
