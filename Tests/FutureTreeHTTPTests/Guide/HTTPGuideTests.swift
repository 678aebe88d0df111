import TestSupport
import Testing

/// The articles of the module and the files in this folder have the same code, word for word.
@Suite("Guides of FutureTreeHTTP")
struct HTTPGuideTests {
  static let all = [
    "CancellingALoad", "Cookbook", "MigratingFromHTTPInSwift", "FutureTreeHTTP", "GettingStarted", "Policies",
    "Resetting", "SlowAndFailingServers", "Streaming", "WritingALayer", "WritingATransport",
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

  @Test("Every test that a page names exists")
  func testNames() throws {
    let tests = try TestNames()
    for name in try Guide.pageNames(of: "FutureTreeHTTP") {
      #expect(try Guide(name, of: "FutureTreeHTTP").problemsOfTestNames(tests) == [])
    }
    for page in ["docs/http-tests", "docs/http-state-tests"] {
      #expect(try Guide(ofPackage: page).problemsOfTestNames(tests) == [])
    }
  }

  @Test("Each question has an answer, and a test in `docs/http-tests.md`")
  func questions() throws {
    let rows = try Guide("QuestionsAnswered", of: "FutureTreeHTTP").page().rows
    let tested = try Guide(ofPackage: "docs/http-tests").page().rows
      .filter { $0.count == 2 && !GuidePage.testNames(in: $0[1]).isEmpty }.map { $0[0] }

    #expect(rows.count >= 30)
    for row in rows {
      #expect(row.count == 2 && !row[1].isEmpty, "\(row[0])")
      #expect(tested.contains(row[0]), "\(row[0])")
    }
  }
}
