extension Guide {
  /// Returns the faults of the page and the snippets in the files.
  package func problems() throws -> [String] {
    problems(page: try page(), snippets: try snippets())
  }

  /// Returns the faults of the guide: code without a snippet, snippets without code, claims that no test expects, and laws
  /// without a drawing or code. Empty if there are none.
  package func problems(page: GuidePage, snippets: [GuideSnippet]) -> [String] {
    let code = page.blocks.filter { $0.language == "swift" }
    let codeTexts = Set(code.map(\.text))
    let snippetTexts = Set(snippets.map(\.text))
    var problems: [String] = []
    for block in code where !snippetTexts.contains(block.text) {
      let first = block.text.prefix { $0 != "\n" }
      problems.append("\(name).md:\(block.line): this code is in no snippet: \(first)")
    }
    for snippet in snippets where !codeTexts.contains(snippet.text) {
      let place = "\(snippet.file):\(snippet.line)"
      problems.append("\(place): the snippet \(snippet.label) is not in \(name).md, word for word")
    }
    for snippet in snippets {
      for claim in snippet.claims where !snippet.expectations.contains(literal(claim)) {
        let place = "\(snippet.file):\(snippet.line)"
        problems.append("\(place): no test expects what a comment says is printed: \(claim)")
      }
    }
    for law in 1..<(laws + 1) {
      guard let problem = problem(ofLaw: law, page: page, snippets: snippets) else { continue }
      problems.append("law \(law): \(problem)")
    }
    if code.isEmpty { problems.append("\(name).md: it has no code") }
    return problems
  }

  private func problem(ofLaw law: Int, page: GuidePage, snippets: [GuideSnippet]) -> String? {
    guard let section = page.sections.filter({ $0 != "Overview" }).dropFirst(law - 1).first else {
      return "it has no section"
    }
    let blocks = page.blocks.filter { $0.section == section }
    guard blocks.contains(where: { $0.language == "text" }) else { return "it has no drawing" }
    guard let code = blocks.first(where: { $0.language == "swift" }) else { return "it has no code" }
    let isItsOwn = snippets.contains { $0.label == "\(law)" && $0.text == code.text }
    return isItsOwn ? nil : "its code is not the snippet \(law)"
  }

  /// Returns the text as a Swift string literal.
  private func literal(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }
}
