import TestSupport
import Testing

/// The articles of the module and the files beside this one say the same, word for word.
@Suite("Guides of FutureTreeHTTP: their code is compiled and run")
struct HTTPGuideTests {
  static let all = [
    "CancellingALoad", "Cookbook", "MigratingFromHTTPInSwift", "FutureTreeHTTP", "GettingStarted", "Policies",
    "Resetting", "WritingALayer", "WritingATransport",
  ]
  .map { Guide($0, of: "FutureTreeHTTP") }

  @Test("its code is in the tests and the other way round", arguments: all)
  func guides(guide: Guide) throws {
    #expect(try guide.problems() == [])
  }

  @Test("the code of the README is in the tests and the other way round")
  func readme() throws {
    #expect(try Guide(ofPackage: "README").problems() == [])
  }

  @Test("every page of the documentation with code is in the list of guides")
  func complete() throws {
    let pages = try Guide.pageNames(of: "FutureTreeHTTP").filter { name in
      try Guide(name, of: "FutureTreeHTTP").page().blocks.contains { $0.language == "swift" }
    }

    #expect(pages == HTTPGuideTests.all.map(\.name).sorted())
  }

  @Test("every test that a page names is there")
  func testNames() throws {
    let tests = try TestNames()
    for name in try Guide.pageNames(of: "FutureTreeHTTP") {
      #expect(try Guide(name, of: "FutureTreeHTTP").problemsOfTestNames(tests) == [])
    }
    #expect(try Guide(ofPackage: "docs/http-tests").problemsOfTestNames(tests) == [])
  }

  @Test("each question has an answer, and a test that shows it")
  func questions() throws {
    let rows = try Guide("QuestionsAnswered", of: "FutureTreeHTTP").page().rows
    #expect(rows.count >= 30)
    for row in rows {
      #expect(row.count == 3 && !row[1].isEmpty, "\(row[0])")
      #expect(row.last.map { !GuidePage.testNames(in: $0).isEmpty } == true, "\(row[0])")
    }
  }
}
