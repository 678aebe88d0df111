import Foundation

/// The names of the tests of this package, in the form that pages use: `Suite/test`.
package struct TestNames: Sendable {
  private static let typeWords: Set<Substring> = ["struct", "extension", "class", "enum"]

  private let names: Set<String>

  /// Finds the tests in all files of the folder `Tests`.
  package init() throws {
    let folder = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
    var names: Set<String> = []
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
    while let file = files?.nextObject() as? URL {
      guard file.pathExtension == "swift" else { continue }
      names.formUnion(TestNames.names(in: try String(contentsOf: file, encoding: .utf8)))
    }
    self.names = names
  }

  package func contains(_ name: String) -> Bool { names.contains(name) }

  /// Returns the functions that are marked as tests, with their top-level types.
  package static func names(in source: String) -> [String] {
    var (names, suite, isTest, conditions) = ([String](), Substring(), false, 0)
    for line in source.split(separator: "\n") {
      let text = line.drop { $0 == " " }
      if text.hasPrefix("#if") { conditions += 1 }
      if text.hasPrefix("#endif") { conditions -= 1 }
      let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" && $0 != "@" }
      // A type in a conditional block is indented.
      if line.count - text.count <= 2 * conditions, !text.hasPrefix("//"),
        let keyword = words.lastIndex(where: { TestNames.typeWords.contains($0) }), keyword + 1 < words.count
      {
        suite = words[keyword + 1]
      }
      if words.first == "@Test" { isTest = true }
      if isTest, let keyword = words.lastIndex(of: "func"), keyword + 1 < words.count {
        names.append("\(suite)/\(words[keyword + 1])")
        isTest = false
      }
    }
    return names
  }
}

extension Guide {
  /// Returns the test names on the page that do not exist.
  package func problemsOfTestNames(_ tests: TestNames) throws -> [String] {
    try page().testNames.filter { !tests.contains($0.name) }.map { "\(self.name).md:\($0.line): no test is \($0.name)" }
  }
}

extension GuidePage {
  /// The names in backquotes, outside of code, of the form `SuiteTests/test` or `PageGuideSnippets/test`.
  package var testNames: [(line: Int, name: String)] {
    prose.flatMap { line, text in GuidePage.testNames(in: text).map { (line, $0) } }
  }

  /// The rows of all tables, with their cells, without heads.
  package var rows: [[String]] {
    var (rows, isInTable) = ([[String]](), false)
    for (_, text) in prose {
      guard text.hasPrefix("|") else {
        isInTable = false
        continue
      }
      let cells = text.dropFirst().split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      if cells.allSatisfy({ $0.allSatisfy { $0 == "-" } }) { isInTable = true } else if isInTable { rows.append(cells) }
    }
    return rows
  }

  package static func testNames(in text: String) -> [String] {
    text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
      .filter { $0.offset % 2 == 1 && ($0.element.contains("Tests/") || $0.element.contains("Snippets/")) }
      .map { String($0.element) }
  }
}
