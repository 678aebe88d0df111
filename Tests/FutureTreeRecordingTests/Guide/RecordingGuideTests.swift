import TestSupport
import Testing

/// The code of the module's pages is identical to the snippets beside this file.
@Suite("Guides of FutureTreeRecording: compiled and tested code")
struct RecordingGuideTests {
  static let all = ["FutureTreeRecording"].map { Guide($0, of: "FutureTreeRecording") }

  @Test("The code of a page equals the snippets of its tests", arguments: all)
  func guides(guide: Guide) throws {
    #expect(try guide.problems() == [])
  }

  @Test("Every page of the documentation is in the list of guides")
  func complete() throws {
    #expect(try Guide.pageNames(of: "FutureTreeRecording") == RecordingGuideTests.all.map(\.name).sorted())
  }
}
