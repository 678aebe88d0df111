import TestSupport
import Testing

/// The pages of the module and the files beside this one say the same, word for word.
@Suite("Guides of FutureTreeTesting: their code is compiled and run")
struct TestingGuideTests {
  static let all = ["FutureTreeTesting"].map { Guide($0, of: "FutureTreeTesting") }

  @Test("its code is in the tests and the other way round", arguments: all)
  func guides(guide: Guide) throws {
    #expect(try guide.problems() == [])
  }

  @Test("every page of the documentation is in the list of guides")
  func complete() throws {
    #expect(try Guide.pageNames(of: "FutureTreeTesting") == TestingGuideTests.all.map(\.name).sorted())
  }

  @Test("every test that a page names is there", arguments: all)
  func testNames(guide: Guide) throws {
    #expect(try guide.problemsOfTestNames(TestNames()) == [])
  }
}
