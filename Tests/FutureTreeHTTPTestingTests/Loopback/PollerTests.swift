import Foundation
import Testing

@testable import FutureTreeHTTPTesting

@Suite("LoopbackServer: the poller", .timeLimit(.minutes(20))) struct PollerTests {
  @Test("A stopped poller writes nothing to the descriptors that it had")
  func stopped() async {
    await #expect(processExitsWith: .success) {
      let poller = try Poller()
      let ended = DispatchSemaphore(value: 0)
      poller.start { ended.signal() }
      poller.stop()
      ended.wait()
      // The pipes take the free numbers. A write to a pipe without a reader ends the process.
      for _ in 0..<8 { Socket.closeDescriptor(try Socket.pipe().read) }

      poller.watch(0, for: .readable) { _ in }
      poller.forget(0)
      poller.stop()
    }
  }
}
