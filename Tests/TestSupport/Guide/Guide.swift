import Foundation

/// A page of the documentation whose code is compiled and run by the tests.
///
/// The code is in the files `<name>GuideSnippets….swift` of one folder, between `// guide <label>` and `// end`.
package struct Guide: Sendable, CustomStringConvertible {
  package let name: String
  /// The number of laws in the guide. After the overview, each law has a section, in order, with a drawing and the snippet of
  /// its number.
  package let laws: Int
  /// The folder of the page: `Sources/<module>/<module>.docc`.
  private let documentation: URL
  /// The folder of the code.
  private let folder: URL

  /// - Parameter testFile: A file in the folder of the code, in `Tests/<target>/<folder>`.
  package init(_ name: String, of module: String, laws: Int = 0, testFile: String = #filePath) {
    self.name = name
    self.laws = laws
    documentation = Guide.documentation(of: module, testFile: testFile)
    folder = URL(filePath: testFile).deletingLastPathComponent()
  }

  /// Creates a guide for a page of the package, such as its README.
  package init(ofPackage name: String, testFile: String = #filePath) {
    self.name = name
    laws = 0
    folder = URL(filePath: testFile).deletingLastPathComponent()
    documentation = folder.appending(path: "../../..").standardized
  }

  /// Returns the names of the pages of a module.
  package static func pageNames(of module: String, testFile: String = #filePath) throws -> [String] {
    try FileManager.default.contentsOfDirectory(
      at: documentation(of: module, testFile: testFile), includingPropertiesForKeys: nil
    )
    .filter { $0.pathExtension == "md" }
    .map { $0.deletingPathExtension().lastPathComponent }
    .sorted()
  }

  package var description: String { name }

  package func text() throws -> String {
    try String(contentsOf: documentation.appending(path: "\(name).md"), encoding: .utf8)
  }

  package func page() throws -> GuidePage {
    GuidePage(try text())
  }

  package func snippets() throws -> [GuideSnippet] {
    try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      .filter { $0.lastPathComponent.hasPrefix("\(name)GuideSnippets") }
      .sorted { $0.lastPathComponent < $1.lastPathComponent }
      .flatMap { GuideSnippet.all(in: try String(contentsOf: $0, encoding: .utf8), file: $0.lastPathComponent) }
  }

  private static func documentation(of module: String, testFile: String) -> URL {
    URL(filePath: testFile).deletingLastPathComponent()
      .appending(path: "../../../Sources/\(module)/\(module).docc").standardized
  }
}

/// The parts of a guide's page that the tests check.
package struct GuidePage {
  package struct Block {
    package let section: String
    package let language: String
    package let line: Int
    package fileprivate(set) var text: String
  }

  package private(set) var sections: [String] = []
  package private(set) var blocks: [Block] = []
  /// The lines outside of code, with their numbers from 1.
  package private(set) var prose: [(line: Int, text: String)] = []

  package init(_ text: String) {
    var open: Block?
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      if line.hasPrefix("```") {
        if let block = open {
          blocks.append(block)
          open = nil
        } else {
          open = Block(section: sections.last ?? "", language: String(line.dropFirst(3)), line: index + 1, text: "")
        }
      } else if open != nil {
        open?.text += line + "\n"
      } else {
        prose.append((index + 1, String(line)))
        if line.hasPrefix("## ") { sections.append(String(line.dropFirst(3))) }
      }
    }
  }
}

/// A snippet of a guide in the tests, and the expectations of its test.
package struct GuideSnippet {
  package let label: String
  package let file: String
  package let line: Int
  package let text: String
  /// The code after the snippet, up to the next snippet or the end of the file.
  package fileprivate(set) var expectations: String

  package static func all(in source: String, file: String) -> [GuideSnippet] {
    var snippets: [GuideSnippet] = []
    var open: (label: String, line: Int, lines: [Substring])?
    func close() {
      guard let snippet = open else { return }
      let text = dedented(snippet.lines)
      snippets.append(GuideSnippet(label: snippet.label, file: file, line: snippet.line, text: text, expectations: ""))
      open = nil
    }
    for (index, line) in source.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let words = line.split(separator: " ")
      if words.count == 3, words[0] == "//", words[1] == "guide" {
        close()
        open = (String(words[2]), index + 1, [])
      } else if words == ["//", "end"] {
        close()
      } else if open != nil {
        open?.lines.append(line)
      } else if !snippets.isEmpty {
        snippets[snippets.count - 1].expectations += line + "\n"
      }
    }
    close()  // A snippet without an end is also a snippet, which no guide has.
    return snippets
  }

  private static func dedented(_ lines: [Substring]) -> String {
    let indent = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
    return lines.map { $0.dropFirst(indent) + "\n" }.joined()
  }

  /// The outputs of `print` that the comments claim, beside the call or below it, up to a semicolon.
  package var claims: [String] {
    let lines = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    return lines.indices.compactMap { index in
      let parts = lines[index].components(separatedBy: "  // ")
      guard parts[0].contains("print("), !parts[0].hasPrefix("//") else { return nil }
      var comment = parts.count == 2 ? parts[1] : ""
      if parts.count == 1, index + 1 < lines.count, lines[index + 1].hasPrefix("// ") {
        comment = String(lines[index + 1].dropFirst(3))
      }
      return comment.split(separator: ";").first.map(String.init)
    }
  }
}

extension GuidePage {
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
}
