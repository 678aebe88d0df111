import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import Testing

extension TestingYourCodeGuideSnippets {
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
}
