import FutureTreeHTTP
import TestSupport
import Testing

@testable import FutureTreeHTTPTesting

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@Suite("RefusingPort", .onSockets, .timeLimit(.minutes(20))) struct RefusingPortTests {
  @Test("Every connection is refused")
  func refused() throws {
    let down = try RefusingPort()

    for _ in 0..<3 {
      let error = #expect(throws: LoopbackClientError.self) { try RawClient(port: down.port) }
      expectEqual(error?.call, "connect")
      expectEqual(error?.number, ECONNREFUSED)
    }
    withExtendedLifetime(down) {}
  }

  @Test(
    "No other socket gets the port, whatever its options",
    arguments: [[], [SO_REUSEADDR], [SO_REUSEPORT], [SO_REUSEADDR, SO_REUSEPORT]])
  func owned(options: [Int32]) throws {
    let down = try RefusingPort()

    expectEqual(errorOfBinding(to: down.port, options), EADDRINUSE)
    #if os(Linux)
      let chosen = errorOfBinding(to: 0, options, systemChoosesOnly: down.port)
      #expect(chosen == EADDRINUSE || chosen == ENOPROTOOPT)  // Linux before 6.3 cannot limit the choice of the system.
    #endif
    withExtendedLifetime(down) {}
  }

  @Test("URLs and the environment name the port")
  func address() throws {
    let down = try RefusingPort()

    #expect(try HTTPURL(down.url("/a?b")).absoluteString == "http://127.0.0.1:\(down.port)/a?b")
    expectEqual(down.environment.host, "127.0.0.1")
    expectEqual(down.environment.port.map(Int.init), down.port)
  }

  #if os(Linux) || os(macOS)
    @Test("A dropped port is free again")
    func dropped() async {
      await #expect(processExitsWith: .success) {
        var down: RefusingPort? = try RefusingPort()
        let port = try #require(down?.port)
        let before = dup(0)

        down = nil
        for _ in 0..<100 { _ = try RefusingPort() }

        expectEqual(descriptorCount(boundTo: port), 0)
        #expect(dup(0) < before + 100)
      }
    }
  #endif

  /// Binds a socket to a port on 127.0.0.1, and closes it.
  ///
  /// - Parameter only: On Linux, the only port that the system can choose for port 0.
  /// - Returns: The error number of the call that failed, or 0.
  private func errorOfBinding(to port: Int, _ options: [Int32], systemChoosesOnly only: Int? = nil) -> Int32 {
    #if canImport(Glibc)
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    defer { closeDescriptor(descriptor) }
    var isOn: Int32 = 1
    for option in options { setsockopt(descriptor, SOL_SOCKET, option, &isOn, socklen_t(MemoryLayout<Int32>.size)) }
    if let only {
      let rangeOfPorts: Int32 = 51  // IP_LOCAL_PORT_RANGE
      var range = UInt32(only) << 16 | UInt32(only)
      let status = setsockopt(
        descriptor, Int32(IPPROTO_IP), rangeOfPorts, &range, socklen_t(MemoryLayout<UInt32>.size))
      guard status == 0 else { return errno }
    }
    do throws(LoopbackServerError) {
      _ = try Socket.withLoopbackAddress(of: UInt16(port), "bind") { bind(descriptor, $0, $1.pointee) }
      return 0
    } catch {
      return error.number
    }
  }
}
