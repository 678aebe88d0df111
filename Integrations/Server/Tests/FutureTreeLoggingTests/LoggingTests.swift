import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeLogging
import FutureTreeTesting
import InMemoryLogging
import Logging
import Testing

@Suite("A log that writes to a logger of swift-log") struct LoggingTests {
  private let handler = InMemoryLogHandler()
  private let mock = MockLoader()
  private let clock = ManualClock()

  private var logger: Logger { Logger(label: "api") { _ in handler } }

  @Test("Both lines of a load have the level, and contain no secrets")
  func writesTwoLines() throws {
    mock.on("/users", .status(.ok))
    let api = Log(to: logger, level: .notice, label: "api", clock: clock) --> mock

    _ = api.load(try HTTPRequest("https://example.com/users?token=secret"))

    #expect(handler.entries.map(\.level) == [.notice, .notice])
    #expect(
      handler.entries.map(\.message.description) == [
        "[api 1] GET https://example.com/users?token=REDACTED: begins",
        "[api 1] GET https://example.com/users?token=REDACTED: 200 in 0.0 ms, 0 bytes",
      ])
  }

  @Test("Entries contain the metadata of the logger")
  func keepsMetadata() throws {
    mock.answer()
    var logger = logger
    logger[metadataKey: "request"] = "7"
    let api = Log(to: logger) --> mock

    _ = api.load(try HTTPRequest("https://example.com/"))

    #expect(handler.entries.map { $0.metadata["request"] } == ["7", "7"])
  }

  @Test("The logger decides which levels it keeps")
  func respectsLevel() throws {
    mock.answer()
    let api = Log(to: logger, level: .trace) --> mock

    _ = api.load(try HTTPRequest("https://example.com/"))

    #expect(handler.entries.isEmpty)
  }
}
