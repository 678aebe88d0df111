#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A client on a raw socket. Its calls block for at most five minutes. It closes the socket when it is deallocated.
final class RawClient {
  enum End: Equatable {
    case finished
    case reset
    case timedOut
  }

  private(set) var descriptor: Int32

  init(port: Int, sendBuffer: Int32? = nil) throws {
    #if canImport(Glibc)
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    guard descriptor >= 0 else { throw LoopbackClientError(call: "socket", number: errno) }
    set(SO_RCVTIMEO, timeval(tv_sec: 300, tv_usec: 0))
    set(SO_SNDTIMEO, timeval(tv_sec: 300, tv_usec: 0))
    if let sendBuffer { set(SO_SNDBUF, sendBuffer) }
    #if canImport(Darwin)
      set(SO_NOSIGPIPE, Int32(1))
    #endif
    var address = sockaddr_in()
    #if canImport(Darwin)
      address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
    #endif
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, length) }
    }
    guard status == 0 else {
      let error = LoopbackClientError(call: "connect", number: errno)
      close()
      throw error
    }
  }

  deinit { close() }

  func close() {
    guard descriptor >= 0 else { return }
    closeDescriptor(descriptor)
    descriptor = -1
  }

  /// Closes with RST.
  func reset() {
    set(SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    close()
  }

  func finishSending() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

  /// Sends all bytes.
  ///
  /// - Returns: Whether the connection accepted all bytes.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      guard let count = sendSome(rest) else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  @discardableResult
  func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  func sendSome(_ bytes: ArraySlice<UInt8>, blocking: Bool = true) -> Int? {
    #if canImport(Darwin)
      let flags: Int32 = blocking ? 0 : Int32(MSG_DONTWAIT)
    #else
      let flags = Int32(MSG_NOSIGNAL) | (blocking ? 0 : Int32(MSG_DONTWAIT))
    #endif
    let count = bytes.withUnsafeBytes { systemSend(descriptor, $0.baseAddress, $0.count, flags) }
    return count < 0 ? nil : count
  }

  /// Sends a request without a body.
  func get(_ target: String, _ headers: String = "", method: String = "GET") {
    send("\(method) \(target) HTTP/1.1\r\nHost: test\r\n\(headers)\r\n")
  }

  /// Reads one response: its head, and as many bytes as its Content-Length says.
  func response(hasBody: Bool = true) -> String? {
    guard let head = read(until: "\r\n\r\n") else { return nil }
    let length = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
      .flatMap { Int($0.split(separator: " ").last ?? "") }
    guard hasBody, let length, let body = read(length) else { return head }
    return head + String(decoding: body, as: UTF8.self)
  }

  /// Reads exactly this many bytes.
  func read(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress! + done, count - done, 0) }
      guard got > 0 else { return nil }
      done += got
    }
    return bytes
  }

  func read(until end: String) -> String? {
    var bytes: [UInt8] = []
    let end = Array(end.utf8)
    while !bytes.suffix(end.count).elementsEqual(end) {
      guard let next = read(1) else { return nil }
      bytes += next
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Reads until the server ends the connection.
  func readToEnd() -> (text: String, end: End) {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count > 0 {
        bytes += buffer[..<count]
        continue
      }
      let end: End = count == 0 ? .finished : errno == ECONNRESET ? .reset : .timedOut
      return (String(decoding: bytes, as: UTF8.self), end)
    }
  }

  /// The error that the system would report next. Only this property shows a RST that follows a FIN.
  var pendingError: Int32 {
    var error: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length)
    return error
  }

  private func set<Value>(_ name: Int32, _ value: Value) {
    _ = withUnsafeBytes(of: value) {
      setsockopt(descriptor, SOL_SOCKET, name, $0.baseAddress, socklen_t($0.count))
    }
  }
}

struct LoopbackClientError: Error, Equatable {
  let call: String
  let number: Int32
}

/// The number of this process's descriptors that are sockets bound to the port: those of the server, not of its clients. Call it
/// only in a process of its own: other tests can get the port once it is free.
func descriptorCount(boundTo port: Int) -> Int {
  (0..<Int32(4_096)).count { descriptor in
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    return status == 0 && Int32(address.sin_family) == AF_INET && Int(UInt16(bigEndian: address.sin_port)) == port
  }
}

/// Opens descriptors until the process has reached a low limit. Call it only in a process of its own.
func exhaustDescriptors(limit: UInt) -> [Int32] {
  var limits = rlimit(rlim_cur: numericCast(limit), rlim_max: numericCast(limit))
  #if canImport(Glibc)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
  #else
    setrlimit(RLIMIT_NOFILE, &limits)
  #endif
  var taken: [Int32] = []
  while true {
    let descriptor = dup(0)
    guard descriptor >= 0 else { return taken }
    taken.append(descriptor)
  }
}

/// Returns one end of a pair of sockets whose other end is closed, in a process that SIGPIPE terminates.
func socketWithoutPeer() -> Int32 {
  signal(SIGPIPE, SIG_DFL)
  var ends: [Int32] = [-1, -1]
  #if canImport(Glibc)
    socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
  #else
    socketpair(AF_UNIX, SOCK_STREAM, 0, &ends)
  #endif
  closeDescriptor(ends[1])
  return ends[0]
}

// System functions whose names are shadowed inside `RawClient`.
func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

private func systemSend(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int {
  send(descriptor, bytes, count, flags)
}
