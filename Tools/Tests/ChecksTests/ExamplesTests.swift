import Testing

@testable import Checks

@Suite("Gate: examples in doc comments") struct ExamplesTests {
  private let fence = "```"

  private func examples(_ source: String, fixtures: String = "") throws -> Examples {
    try Examples(["Sources/Shop/Order.swift": source], fixtures: fixtures, at: "Fixtures.swift")
  }

  @Test("Each example is a function, and errors name its lines")
  func function() throws {
    let path = "Sources/Shop/Order.swift"
    let examples = try examples("/// Buys.\n///\n/// \(fence)swift\n/// buy()\n/// \(fence)\nfunc buy() {}")
    #expect(examples.count == 1)
    let function = "static func example0() throws {\n#sourceLocation(file: \"\(path)\", line: 4)\nbuy()\n}\n"
    #expect(examples.code.contains(function))
  }

  @Test("An example that waits is an async function, and an extension stays at the top level")
  func kinds() throws {
    #expect(try examples("/// \(fence)swift\n/// await buy()\n/// \(fence)").code.contains("example0() async throws {"))
    #expect(!(try examples("/// \(fence)swift\n/// extension Order {}\n/// \(fence)").code.contains("static func")))
  }

  @Test("Other languages, comments that are not documentation, and code are not compiled")
  func excluded() throws {
    let text = "/// \(fence)text\n/// a\n/// \(fence)\n"
    let source = text + "// \(fence)swift\n// b\n// \(fence)\n/// \(fence)\n/// c\n/// \(fence)\nlet d = 1"
    #expect(try examples(source).count == 0)
  }

  @Test("A comment that ends closes its example")
  func unclosed() throws {
    let examples = try examples("/// \(fence)swift\n/// a()\nlet b = 1\n/// Later.")
    #expect(examples.count == 1 && !examples.code.contains("Later"), "\(examples.code)")
  }

  @Test("An example is compiled under its conditions")
  func conditions() throws {
    let example = "/// \(fence)swift\n/// a()\n/// \(fence)\n"
    let source = "#if canImport(Combine)\n" + example + "#else\n" + example + "#endif"
    let code = try examples(source).code
    #expect(code.contains("#if canImport(Combine)\nextension Examples0 {\nstatic func example0()"))
    #expect(code.contains("#if !(canImport(Combine))\nextension Examples0 {\nstatic func example1()"))
  }

  @Test("Fixtures of a file are members of its examples")
  func fixtures() throws {
    let fixtures = "let all = 1\n// In Order.swift\nstatic let one = 2"
    let code = try examples("/// \(fence)swift\n/// a()\n/// \(fence)", fixtures: fixtures).code
    let members = "enum Examples0 {\n#sourceLocation(file: \"Fixtures.swift\", line: 3)\nstatic let one = 2\n}"
    #expect(code.contains("line: 1)\nlet all = 1\n#sourceLocation()\n" + members))
  }

  @Test("Fixtures for a file without examples are an error")
  func unusedFixtures() {
    #expect(throws: Failure.self) { try examples("", fixtures: "// In Other.swift\nlet a = 1") }
  }
}
