import Testing

@testable import Checks

@Suite("Gate: prose") struct ProseTests {
  private let prose: Prose

  init() throws { prose = try Prose() }

  private func findings(_ text: String, in path: String = "README.md") -> [String] {
    prose.check(text, path: path).findings
  }

  @Test(
    "A word for which there is a term is found",
    arguments: [
      ("The caller wishes to stop.", "wishes"), ("A file.\nIt Mends itself.", "Mends"),
      ("| a | the load under way |", "under way"),
      ("- One\n- Once it goes, all end.", "Once it goes"), ("See Future.wish here.", "wish"),
    ])
  func terms(text: String, found: String) {
    let findings = findings(text)
    #expect(findings.count == 1 && findings[0].contains("“\(found)”"), "\(findings)")
  }

  @Test(
    "Code, links and quotations may have any word",
    arguments: [
      "The `wish`.", "```\nwish\n```", "[text](wish.md)", "It said \"wish\".", "<doc:Wish>", "https://example.com/wish",
    ])
  func quoted(text: String) {
    #expect(findings(text) == [])
  }

  @Test("The line of a finding is that of its passage")
  func line() {
    #expect(findings("# Title\n\nGood.\n\nA wish.")[0].hasPrefix("README.md:5: "))
    let source = "let a = 1\n\n/// Good.\n///\n/// A wish.\nfunc f() {}"
    #expect(findings(source, in: "Sources/A.swift")[0].hasPrefix("Sources/A.swift:5: "))
    #expect(findings("let a = 1  // A wish.", in: "Tests/A.swift")[0].hasPrefix("Tests/A.swift:1: "))
  }

  @Test("A page has no sentence of more than 35 words")
  func sentences() {
    let words = Array(repeating: "word", count: 35).joined(separator: " ")
    #expect(findings(words + ". Next.") == [])
    #expect(findings("More " + words + ".\nNext.")[0].contains("36 words in a sentence"))
    #expect(findings("// More " + words + ".", in: "Sources/A.swift") == [])
  }

  @Test("Public text cites a law by its name")
  func publicCitations() {
    #expect(findings("As law 8 says.")[0].contains("cite it by name"))
    #expect(findings("As H11 says.")[0].contains("cite it by name"))
    #expect(findings("As law 8 (no request is lost) says.") == [])
    #expect(findings("| 8 | Law 8 | No request is lost |") == [])
    let comment = "/// As law 8 says.\n"
    #expect(findings(comment + "@inlinable\npublic func f() {}", in: "Sources/A.swift")[0].contains("cite it by name"))
    #expect(findings(comment + "func f() {}", in: "Sources/A.swift")[0].contains("add its name in parentheses"))
  }

  @Test("Other comments add the name in parentheses")
  func otherCitations() {
    #expect(findings("// As law 8 says.", in: "Tests/A.swift")[0].contains("add its name in parentheses"))
    #expect(findings("// As law 8 (no request is lost) says.", in: "Tests/A.swift") == [])
  }

  @Test("Code of a Swift file is not prose")
  func code() {
    #expect(prose.check("let wish = told()  \nlet url = \"http://wish\"", path: "Sources/A.swift") == ([], 0))
  }
}
