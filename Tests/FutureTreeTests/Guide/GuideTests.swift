import Testing

/// The guides and the tests beside this file say the same, word for word.
@Suite("Guides: their code is compiled and run")
struct GuideTests {
  @Test("its code is in the tests and the other way round, and each law has a drawing", arguments: Guide.all)
  func guides(guide: Guide) throws {
    #expect(problems(of: guide, page: try guide.page(), snippets: try guide.snippets()) == [])
  }

  @Test("every page of the documentation is in the list of guides")
  func complete() throws {
    #expect(try Guide.pageNames() == Guide.all.map(\.name).sorted())
  }

  @Test("a guide that is in order has no problems")
  func inOrder() {
    let page = "# Guide\n\n## 1. First\n\n```text\n●\n```\n\n```swift\nlet a = 1\n\nprint(a)  // 1; one\n```\n"
    let source = "    // guide 1\n    let a = 1\n\n    print(a)  // 1; one\n    // end\n    #expect(lines == [\"1\"])\n"

    #expect(problems(page, source, laws: 1) == [])
  }

  @Test("each kind of problem is found, and says where it is")
  func found() {
    let page = """
      ## 1. First
      ```text
      ●
      ```
      ```swift
      let a = 2
      ```
      ## 2. Second
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
        "law 3: it has no section `## 3. …`",
      ])
  }

  private func problems(_ page: String, _ source: String, laws: Int) -> [String] {
    problems(
      of: Guide("Guide", laws: laws), page: GuidePage(page),
      snippets: GuideSnippet.all(in: source, file: "Snippets.swift"))
  }

  private func problems(of guide: Guide, page: GuidePage, snippets: [GuideSnippet]) -> [String] {
    let code = page.blocks.filter { $0.language == "swift" }
    let codeTexts = Set(code.map(\.text))
    let snippetTexts = Set(snippets.map(\.text))
    var problems: [String] = []
    for block in code where !snippetTexts.contains(block.text) {
      let first = block.text.prefix { $0 != "\n" }
      problems.append("\(guide.name).md:\(block.line): this code is in no snippet: \(first)")
    }
    for snippet in snippets where !codeTexts.contains(snippet.text) {
      let place = "\(snippet.file):\(snippet.line)"
      problems.append("\(place): the snippet \(snippet.label) is not in \(guide.name).md, word for word")
    }
    for snippet in snippets {
      for claim in snippet.claims where !snippet.expectations.contains(literal(claim)) {
        let place = "\(snippet.file):\(snippet.line)"
        problems.append("\(place): no test expects what a comment says is printed: \(claim)")
      }
    }
    for law in 1..<(guide.laws + 1) {
      guard let problem = problem(ofLaw: law, page: page, snippets: snippets) else { continue }
      problems.append("law \(law): \(problem)")
    }
    if code.isEmpty { problems.append("\(guide.name).md: it has no code") }
    return problems
  }

  private func problem(ofLaw law: Int, page: GuidePage, snippets: [GuideSnippet]) -> String? {
    guard let section = page.sections.first(where: { $0.hasPrefix("\(law). ") }) else {
      return "it has no section `## \(law). …`"
    }
    let blocks = page.blocks.filter { $0.section == section }
    guard blocks.contains(where: { $0.language == "text" }) else { return "it has no drawing" }
    guard let code = blocks.first(where: { $0.language == "swift" }) else { return "it has no code" }
    let isItsOwn = snippets.contains { $0.label == "\(law)" && $0.text == code.text }
    return isItsOwn ? nil : "its code is not the snippet \(law)"
  }

  /// The text as a string literal of Swift.
  private func literal(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }
}
