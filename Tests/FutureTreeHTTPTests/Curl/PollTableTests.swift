import Testing

@testable import FutureTreeHTTP

@Suite("CurlLoader: the sockets of an engine") struct PollTableTests {
  @Test("A socket is watched for what libcurl waits for")
  func changes() {
    var table = PollTable()

    #expect(table.interestChanged(.write, of: 7) == .add(.write))
    #expect(table.interestChanged(.write, of: 7) == .none)
    #expect(table.interestChanged(.read, of: 7) == .change(.read))
    #expect(table.interestChanged([.read, .write], of: 7) == .change([.read, .write]))
    #expect(table.interestChanged([], of: 7) == .remove)
    #expect(table.interestChanged(.read, of: 7) == .add(.read))
    #expect(table.eventArrived(at: 7) == nil)
  }

  @Test("The socket of an idle connection is watched until its first event")
  func idle() {
    var table = PollTable()
    _ = table.interestChanged(.read, of: 300)

    #expect(table.interestChanged([], of: 300) == .none)
    #expect(table.interestChanged(.read, of: 300) == .none)
    #expect(table.interestChanged([], of: 300) == .none)
    #expect(table.eventArrived(at: 300) == .remove)
    #expect(table.interestChanged(.read, of: 300) == .add(.read))
  }

  @Test("A new socket with the number of a socket that was closed is watched")
  func reusedNumber() {
    var table = PollTable()
    _ = table.interestChanged(.read, of: 5)
    _ = table.interestChanged([], of: 5)

    table.forget(5)

    #expect(table.interestChanged(.read, of: 5) == .add(.read))
  }

  @Test("A descriptor that is no socket is not watched")
  func noSocket() {
    var table = PollTable()
    table.forget(-1)

    #expect(table.interestChanged([], of: -1) == .none)
    #expect(table.interestChanged(.read, of: -1) == .none)
  }

  @Test("An event of an unknown socket removes it")
  func unknown() {
    var table = PollTable()
    table.forget(9)

    #expect(table.eventArrived(at: 9) == .remove)
  }
}
