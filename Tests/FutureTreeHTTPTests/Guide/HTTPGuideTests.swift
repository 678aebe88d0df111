import TestSupport
import Testing

/// The articles of the module and the files in this folder have the same code, word for word.
@Suite("Guides of FutureTreeHTTP")
struct HTTPGuideTests {
  static let all = [
    "BesideOtherLibraries", "CancellingALoad", "Connections", "Cookbook", "MigratingFromHTTPInSwift",
    "FutureTreeHTTP", "GettingStarted", "Policies", "Resetting", "SlowAndFailingServers", "Streaming", "WritingALayer",
    "WritingATransport",
  ]
  .map { Guide($0, of: "FutureTreeHTTP") }

  @Test("The code of each article is in the tests, and the reverse", arguments: all)
  func guides(guide: Guide) throws {
    #expect(try guide.problems() == [])
  }

  @Test("Every documentation page with code is in the list of guides")
  func complete() throws {
    let pages = try Guide.pageNames(of: "FutureTreeHTTP").filter { name in
      try Guide(name, of: "FutureTreeHTTP").page().blocks.contains { $0.language == "swift" }
    }

    #expect(pages == HTTPGuideTests.all.map(\.name).sorted())
  }

  @Test("Each question has an answer")
  func questions() throws {
    let rows = try Guide("QuestionsAnswered", of: "FutureTreeHTTP").page().rows

    #expect(rows.count >= 30)
    #expect(rows.filter { $0.count != 2 || $0[1].isEmpty } == [])
  }
}
