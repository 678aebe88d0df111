import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeRecording
import FutureTreeTesting
import TestSupport
import Testing

/// The code of the landing page, word for word. `RecordingGuideTests` compares the two.
@Suite("Guide: FutureTreeRecording") struct FutureTreeRecordingGuideSnippets {
  private let print = Transcript()
  private let mock = MockLoader()
  private let clock = ManualClock()
  private let request: HTTPRequest

  init() throws {
    request = try HTTPRequest("http://example.com/feed")
  }

  @Test("Recording and replaying")
  func recording() async throws {
    mock.on("/feed", .text("news"))
    // guide recording
    let recorder = HTTPRecorder()
    _ = (recorder --> mock).load(request)  // In practice, in front of a transport.
    let har = try recorder.archive.data()

    let replayer = HTTPReplayer(try HTTPArchive(har))
    let feed = (Retry() --> replayer).load(request)
    print(String(decoding: try await feed.value.body, as: UTF8.self))  // news
    print(replayer.unused)  // []
    // end

    #expect(print.lines == ["news", "[]"])
  }

  @Test("A flight recorder")
  func flight() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).json")
    defer { try? FileManager.default.removeItem(at: file) }
    mock.on("/feed", .hold())
    // guide flight
    let flights = HTTPRecorder(limit: 200, maximumBodySize: 64 << 10, log: FutureLog(clock: clock), clock: clock) {
      try? $1.recording().write(to: file)
    }
    let production = flights --> Timeout(total: .seconds(2), clock: clock) --> mock
    // end
    let missed = production.load(request)
    clock.advance(by: .seconds(2))
    #expect(missed.isCompleted)

    // guide replay
    let time = ManualClock()
    let flight = HTTPReplayer(try FlightRecording(Data(contentsOf: file)))
    let late = flight.load(request)
    try flight.replay(on: time)
    print(time.now, late.isCompleted)  // 2.0 seconds true
    // end
    #expect(print.lines == ["2.0 seconds true"])
  }
}
