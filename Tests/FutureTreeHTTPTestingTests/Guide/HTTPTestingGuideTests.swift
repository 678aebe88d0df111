import FutureTreeHTTPTesting
import TestSupport
import Testing

/// The code of the module's pages is identical to the snippets beside this file.
@Suite("Guides of FutureTreeHTTPTesting: compiled and tested code")
struct HTTPTestingGuideTests {
  static let all = ["FutureTreeHTTPTesting", "SimulatedNetworks", "TestingYourCode"].map {
    Guide($0, of: "FutureTreeHTTPTesting")
  }

  @Test("The code of a page equals the snippets of its tests", arguments: all)
  func guides(guide: Guide) throws {
    #expect(try guide.problems() == [])
  }

  @Test("Every page of the documentation is in the list of guides")
  func complete() throws {
    #expect(try Guide.pageNames(of: "FutureTreeHTTPTesting") == HTTPTestingGuideTests.all.map(\.name).sorted())
  }

  @Test("Every fault has a row of tests that exist, and every simulated fault is in the table")
  func faults() throws {
    let page = Guide(ofPackage: "docs/faults")
    #expect(try page.problemsOfTestNames(TestNames()) == [])
    let text = try page.text()
    #expect(SimulatedFault.allCases.filter { !text.contains("`\($0)`") } == [])
  }

  @Test("Every test named on a page exists", arguments: all)
  func testNames(guide: Guide) throws {
    #expect(try guide.problemsOfTestNames(TestNames()) == [])
  }
}
