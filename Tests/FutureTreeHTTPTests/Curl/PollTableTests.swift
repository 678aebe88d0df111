import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("CurlLoader: the sockets of an engine") struct PollTableTests {
  @Test("A socket is watched for what libcurl waits for")
  func changes() {
    var table = PollTable()

    expectEqual(table.interestChanged(.write, of: 7), .add(.write))
    expectEqual(table.interestChanged(.write, of: 7), .none)
    expectEqual(table.interestChanged(.read, of: 7), .change(.read))
    expectEqual(table.interestChanged([.read, .write], of: 7), .change([.read, .write]))
    expectEqual(table.interestChanged([], of: 7), .remove)
    expectEqual(table.interestChanged(.read, of: 7), .add(.read))
    #expect(table.eventArrived(at: 7) == nil)
  }

  @Test("The socket of an idle connection is watched until its first event")
  func idle() {
    var table = PollTable()
    _ = table.interestChanged(.read, of: 300)

    expectEqual(table.interestChanged([], of: 300), .none)
    expectEqual(table.interestChanged(.read, of: 300), .none)
    expectEqual(table.interestChanged([], of: 300), .none)
    expectEqual(table.eventArrived(at: 300), .remove)
    expectEqual(table.interestChanged(.read, of: 300), .add(.read))
  }

  @Test("A new socket with the number of a socket that was closed is watched")
  func reusedNumber() {
    var table = PollTable()
    _ = table.interestChanged(.read, of: 5)
    _ = table.interestChanged([], of: 5)

    table.forget(5)

    expectEqual(table.interestChanged(.read, of: 5), .add(.read))
  }

  @Test("A descriptor that is no socket is not watched")
  func noSocket() {
    var table = PollTable()
    table.forget(-1)

    expectEqual(table.interestChanged([], of: -1), .none)
    expectEqual(table.interestChanged(.read, of: -1), .none)
  }

  @Test("An event of an unknown socket removes it")
  func unknown() {
    var table = PollTable()
    table.forget(9)

    expectEqual(table.eventArrived(at: 9), .remove)
  }
}
