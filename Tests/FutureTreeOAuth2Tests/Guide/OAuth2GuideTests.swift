import TestSupport
import Testing

/// The code of the module's pages is identical to the snippets beside this file.
@Suite("Guides of FutureTreeOAuth2: compiled and tested code")
struct OAuth2GuideTests {
  static let all = ["FutureTreeOAuth2"].map { Guide($0, of: "FutureTreeOAuth2") }

  @Test("The code of a page equals the snippets of its tests", arguments: all)
  func guides(guide: Guide) throws {
    #expect(try guide.problems() == [])
  }

  @Test("Every page of the documentation is in the list of guides")
  func complete() throws {
    #expect(try Guide.pageNames(of: "FutureTreeOAuth2") == OAuth2GuideTests.all.map(\.name).sorted())
  }
}
