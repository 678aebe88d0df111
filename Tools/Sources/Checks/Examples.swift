import Foundation

/// The Swift code in the doc comments of a module, as a file of client code. Errors of the compiler name the line of the comment.
///
/// Each example becomes the body of a function. An example that begins with `extension` stays at the top level. An example inside
/// `#if` is compiled under that condition. An example that must not be compiled has another language than `swift`.
public struct Examples {
  /// The number of examples.
  public private(set) var count = 0
  public private(set) var code: String

  /// - Parameters:
  ///   - sources: The text of each file by its path, which errors name.
  ///   - fixtures: Declares the names that the examples use, such as `api` or `User`: at the top for all files, and after a line
  ///     `// In <file>` as static members for the examples of that file.
  ///   - path: The path of the fixtures, which errors name.
  /// - Throws: `Failure` if there are fixtures for a file without examples.
  public init(_ sources: [String: String], fixtures: String, at path: String) throws {
    var fixtures = Fixtures(fixtures, at: path)
    code = "#sourceLocation(file: \"\(path)\", line: 1)\n" + fixtures.common
    for (file, source) in sources.sorted(by: { $0.key < $1.key }) {
      let examples = Example.all(in: source)
      guard !examples.isEmpty else { continue }
      code += "#sourceLocation()\nenum Examples\(count) {\n"
      code += fixtures.ofFile.removeValue(forKey: URL(filePath: file).lastPathComponent) ?? ""
      code += "}\n"
      for (index, example) in examples.enumerated() {
        let isAsync = example.text.contains("await ")
        var function = "extension Examples\(count) {\nstatic func example\(index)() "
        function += (isAsync ? "async " : "") + "throws {\n"
        code += example.conditions.map { $0 + "\n" }.joined() + (example.isTopLevel ? "" : function)
        code += "#sourceLocation(file: \"\(file)\", line: \(example.line))\n" + example.text
        code += (example.isTopLevel ? "" : "}\n}\n") + example.conditions.map { _ in "#endif\n" }.joined()
      }
      count += examples.count
    }
    if let file = fixtures.ofFile.keys.sorted().first { throw Failure("\(path): \(file) has no examples") }
  }
}

/// The code of one example.
private struct Example {
  let line: Int
  /// The `#if` lines that enclose the example.
  let conditions: [String]
  var text = ""

  var isTopLevel: Bool { text.hasPrefix("extension ") }

  /// Returns the examples in the doc comments of a file.
  static func all(in source: String) -> [Example] {
    var examples: [Example] = []
    var (isOpen, isSwift) = (false, false)
    var conditions: [String] = []
    for (index, line) in source.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      guard let comment = line.firstMatch(of: #/^\s*/// ?(.*)$/#)?.1 else {
        isOpen = false
        let code = line.drop { $0 == " " }
        if code.hasPrefix("#if ") { conditions.append(String(code)) }
        if code.hasPrefix("#else"), let condition = conditions.popLast() {
          conditions.append("#if !(" + condition.dropFirst("#if ".count) + ")")
        }
        if code.hasPrefix("#endif") { _ = conditions.popLast() }
        continue
      }
      if comment.hasPrefix("```") {
        isSwift = !isOpen && comment == "```swift"
        isOpen.toggle()
        if isSwift { examples.append(Example(line: index + 2, conditions: conditions)) }
      } else if isOpen, isSwift {
        examples[examples.count - 1].text += comment + "\n"
      }
    }
    return examples
  }
}

/// The declarations for the examples of a module.
private struct Fixtures {
  private(set) var common = ""
  /// The declarations for single files, by file name.
  var ofFile: [String: String] = [:]

  init(_ text: String, at path: String) {
    var file: String?
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      if line.hasPrefix("// In ") {
        let name = String(line.dropFirst("// In ".count))
        file = name
        ofFile[name] = "#sourceLocation(file: \"\(path)\", line: \(index + 2))\n"
      } else if let file {
        ofFile[file, default: ""] += line + "\n"
      } else {
        common += line + "\n"
      }
    }
  }
}

/// An error with a text for the user.
public struct Failure: Error, CustomStringConvertible {
  public let description: String

  public init(_ description: String) { self.description = description }
}
