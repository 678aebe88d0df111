import TestSupport
import Testing

/// The code of the module's pages is identical to the snippets beside this file.
@Suite("Guides of FutureTreePictures: compiled and tested code")
struct PicturesGuideTests {
  static let all = ["FutureTreePictures", "Pictures"].map { Guide($0, of: "FutureTreePictures") }

  @Test("The code of a page equals the snippets of its tests", arguments: all)
  func guides(guide: Guide) throws {
    #expect(try guide.problems() == [])
  }

  @Test("Every page of the documentation is in the list of guides")
  func complete() throws {
    #expect(try Guide.pageNames(of: "FutureTreePictures") == PicturesGuideTests.all.map(\.name).sorted())
  }
}
