import GuideSupport
import Testing

/// The articles of the module and the files beside this one say the same, word for word.
@Suite("Guides of FutureTreeHTTP: their code is compiled and run")
struct HTTPGuideTests {
  static let all = ["CancellingALoad", "ComingFromHTTPInSwift", "FutureTreeHTTP", "Resetting", "WritingALayer"]
    .map { Guide($0, of: "FutureTreeHTTP") }

  @Test("its code is in the tests and the other way round", arguments: all)
  func guides(guide: Guide) throws {
    #expect(try guide.problems() == [])
  }

  @Test("every page of the documentation with code is in the list of guides")
  func complete() throws {
    let pages = try Guide.pageNames(of: "FutureTreeHTTP").filter { name in
      try Guide(name, of: "FutureTreeHTTP").page().blocks.contains { $0.language == "swift" }
    }

    #expect(pages == HTTPGuideTests.all.map(\.name).sorted())
  }
}
