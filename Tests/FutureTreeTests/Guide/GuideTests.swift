import TestSupport
import Testing

extension Guide {
  static let all =
    [Guide("Cancellation", of: "FutureTree", laws: 25)]
    + names.map { Guide($0, of: "FutureTree") }

  private static let names = [
    "MigratingFromFutureKit", "MigratingFromOtherStyles", "MigratingFromPromiseKit", "FutureTree", "GettingStarted",
    "Scopes", "Recipes",
  ]
}

/// The code of the guides is identical to the snippets beside this file.
@Suite("Guides: compiled and tested code")
struct GuideTests {
  @Test("The code of a guide equals the snippets of its tests, and each law has a drawing", arguments: Guide.all)
  func guides(guide: Guide) throws {
    #expect(try guide.problems() == [])
  }

  @Test("Every page of the documentation is in the list of guides")
  func complete() throws {
    #expect(try Guide.pageNames(of: "FutureTree") == Guide.all.map(\.name).sorted())
  }

  @Test("A correct guide has no problems")
  func inOrder() {
    let page = "# Guide\n## Overview\n## First\n\n```text\n●\n```\n\n```swift\nlet a = 1\n\nprint(a)  // 1; one\n```\n"
    let source = "    // guide 1\n    let a = 1\n\n    print(a)  // 1; one\n    // end\n    #expect(lines == [\"1\"])\n"

    #expect(problems(page, source, laws: 1) == [])
  }

  @Test("Each kind of problem is reported with its location")
  func found() {
    let page = """
      ## First
      ```text
      ●
      ```
      ```swift
      let a = 2
      ```
      ## Second
      ```text
      ●
      ```
      """
    let source = """
        // guide 1
        let a = 1
        print(a)
        // 1
        // end
        // guide 7
        // end
      """

    #expect(
      problems(page, source, laws: 3) == [
        "Guide.md:5: this code is in no snippet: let a = 2",
        "Snippets.swift:1: the snippet 1 is not in Guide.md, word for word",
        "Snippets.swift:6: the snippet 7 is not in Guide.md, word for word",
        "Snippets.swift:1: no test expects what a comment says is printed: 1",
        "law 1: its code is not the snippet 1",
        "law 2: it has no code",
        "law 3: it has no section",
      ])
  }

  private func problems(_ page: String, _ source: String, laws: Int) -> [String] {
    Guide("Guide", of: "FutureTree", laws: laws)
      .problems(page: GuidePage(page), snippets: GuideSnippet.all(in: source, file: "Snippets.swift"))
  }
}
