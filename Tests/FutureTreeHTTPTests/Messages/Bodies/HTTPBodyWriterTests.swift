import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeTesting
import TestSupport
import Testing

/// A connection that uses the writer when it is released.
private final class Connection: Sendable {
  let writer: HTTPBodyWriter
  private let log: Recorder

  init(_ writer: HTTPBodyWriter, _ log: Recorder) {
    self.writer = writer
    self.log = log
  }

  deinit {
    log("released, \(writer.hasRoom ? "room" : "no room")")
    writer.transfer.cancel()
  }
}

@Suite("HTTPBodyWriter") struct HTTPBodyWriterTests {
  private let log = Recorder()
  private let made: (stream: HTTPBodyStream, writer: HTTPBodyWriter)

  init() throws {
    made = HTTPBodyStream.makeStream(for: try HTTPRequest("http://example.com/feed"), clock: ManualClock())
  }

  /// Leaves the connection to the closure of `onStop`.
  private func connect() {
    let connection = Connection(made.writer, log)
    made.writer.onStop { [log] in withExtendedLifetime(connection) { log("stop") } }
  }

  @Test("The closure of `onStop` is released outside the lock, when the body has ended")
  func released() {
    connect()
    made.writer.finish()

    expectEqual(log.entries, ["released, room"])
  }

  @Test("A closure that replaces another releases it outside the lock")
  func replaced() {
    connect()
    connect()
    expectEqual(log.entries.prefix(1), ["released, room"])
    made.writer.finish()
    withExtendedLifetime(made.stream) {}
  }
}
