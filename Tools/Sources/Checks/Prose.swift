import Foundation

/// Checks the prose of Markdown files, and of the comments in Swift files, for
/// - words for which the project has a term (`terms`), outside of code,
/// - sentences of more than 35 words in Markdown files,
/// - laws and rules that are cited by number alone: in public text by name only, in other comments as
///   `Law 8 (no request is lost)`.
///
/// The texts of errors are not checked: `ErrorText` in the tests does.
public struct Prose {
  private let expressions: [(term: NSRegularExpression, instead: String)]
  private let patterns = Patterns()

  /// - Throws: If a term is not a regular expression.
  public init() throws {
    expressions = try Prose.terms.map {
      (try NSRegularExpression(pattern: #"\b("# + $0.pattern + #")\b"#, options: .caseInsensitive), $0.instead)
    }
  }

  /// Checks a file. Returns the findings, one line each, and the number of checked passages.
  ///
  /// - Parameters:
  ///   - text: The text of the file.
  ///   - path: Its path in the repository, which distinguishes Markdown from Swift, and libraries from other code.
  public func check(_ text: String, path: String) -> (findings: [String], passageCount: Int) {
    let isMarkdown = path.hasSuffix(".md")
    let passages =
      isMarkdown
      ? patterns.passages(inMarkdown: text) : patterns.passages(inSwift: text, isLibrary: path.hasPrefix("Sources/"))
    let findings = passages.flatMap { passage in
      (terms(in: passage) + citations(in: passage) + (isMarkdown ? lengths(in: passage) : []))
        .map { "\(path):\(passage.line): \($0)" }
    }
    return (findings, passages.count)
  }

  private static let longestSentence = 35

  /// What must not be written, as a regular expression over lower-case words, and what to write instead.
  private static let terms: [(pattern: String, instead: String)] = [
    (#"wish(es|ed)?"#, "cancellation request"),
    (#"asks? as nobody|asked as nobody"#, "is not attributed to a consumer"),
    (#"wants?( it| them)? no more|nobody wants"#, "withdraws interest, is no longer a consumer"),
    (#"still wants?"#, "has interest, is a consumer"),
    (#"lets? go of|lets go"#, "detaches from"),
    (#"hears? of|heard of"#, "is notified of"),
    (#"tells|told"#, "notifies, reports, says"),
    (#"mends?|mended"#, "fixes, recovers"),
    (#"slips?"#, "bug, mutation"),
    (#"who comes? from|for who "#, "migrating from"),
    (#"for which it is written"#, "supports"),
    (#"if nothing is said"#, "by default"),
    (#"make up for nothing"#, "`nil` disables"),
    (#"what has failed for now"#, "transient failures"),
    (#"what many ask for"#, "concurrent loads"),
    (#"anew"#, "again"),
    (#"under way"#, "in flight"),
    (#"moment that travels"#, "deadline carried by the request"),
    (#"(when|once) (it|the \w+|a \w+) goes"#, "is deallocated"),
    (
      #"(^|[.;:,] )(who|what|whoever|whatever) (waits|asks|wants|leaves|holds|is asked|comes|goes|stands|follows)"#,
      "the noun"
    ),
    (#"that which|those who|one that|ones that"#, "the noun"),
  ]

  private func terms(in passage: Passage) -> [String] {
    let text = passage.prose as NSString
    return expressions.flatMap { expression, instead in
      expression.matches(in: passage.prose, range: NSRange(location: 0, length: text.length))
        .map { "“\(text.substring(with: $0.range))”: write “\(instead)”" }
    }
  }

  private func citations(in passage: Passage) -> [String] {
    let text = passage.prose
    guard passage.isPublic else {
      return text.matches(of: patterns.lawWithoutName)
        .map { "“\(text[$0.range])”: add its name in parentheses" }
    }
    return text.matches(of: patterns.number)
      .filter { text[$0.range] != text }.map { "“\(text[$0.range])”: cite it by name" }
  }

  private func lengths(in passage: Passage) -> [String] {
    let text = passage.prose.replacing(patterns.sentenceEnd) { "\($0.output.1)\n" }
    return text.split(separator: "\n").compactMap { sentence in
      let words = sentence.split(separator: " ").filter { $0.contains(where: \.isLetter) }.count
      return words > Prose.longestSentence ? "\(words) words in a sentence: “\(sentence.prefix(60))…”" : nil
    }
  }
}

/// Text between two blank lines, list markers, headings or cells.
private struct Passage {
  /// The text without code, the targets of links, and quotations, which may have other words.
  let prose: String
  /// The number of the first line.
  let line: Int
  /// Whether users read it: a page, a doc comment of a public symbol, a text of an error.
  let isPublic: Bool
}

/// The regular expressions, made once: a literal is parsed each time that its code runs.
private struct Patterns {
  private let code = #/`[^`]*`/#
  private let target = #/\]\([^)]*\)/#
  private let link = #/<doc:[^>]*>|https?:\S+/#
  private let quotation = #/"[^"]*"|“[^”]*”/#
  private let marker = #/([-*#>]|\d+\.) /#
  private let publicWord = #/\b(public|open|case)\b/#.wordBoundaryKind(.simple)
  private let trailingComment = #/[^:"]// (.*)$/#
  let sentenceEnd = #/([.!?])\s+/#
  /// The number of a law, without the name that must follow in parentheses.
  let lawWithoutName = #/\b[Ll]aw \d+(?!\d)(?! \()/#.wordBoundaryKind(.simple)
  /// The number of a law or a rule. A name in parentheses or italics may follow.
  let number = #/\b([Ll]aws? \d+|H\d+)\b(?! [(*])/#.wordBoundaryKind(.simple)

  private func passage(_ text: String, line: Int, isPublic: Bool) -> Passage {
    let prose = text.replacing(code, with: "CODE").replacing(target, with: "]").replacing(link, with: "LINK")
      .replacing(quotation, with: "QUOTE")
    return Passage(prose: prose, line: line, isPublic: isPublic)
  }

  /// - Parameter firstLine: The number of the first line of the text in its file.
  func passages(inMarkdown text: String, firstLine: Int = 1, isPublic: Bool = true) -> [Passage] {
    var passages: [(text: String, line: Int)] = []
    var (isOpen, isCode) = (false, false)
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let trimmed = line.trimmingCharacters(in: .whitespaces)
      if trimmed.hasPrefix("```") {
        isCode.toggle()
        isOpen = false
      } else if isCode || trimmed.isEmpty || trimmed.hasPrefix("<!--") || trimmed.hasPrefix("@") {
        isOpen = false
      } else if trimmed.hasPrefix("|") {
        isOpen = false
        passages += trimmed.split(separator: "|").map { ($0.trimmingCharacters(in: .whitespaces), index) }
      } else if isOpen, trimmed.prefixMatch(of: marker) == nil {
        passages[passages.count - 1].text += " " + trimmed
      } else {
        isOpen = !trimmed.hasPrefix("#")
        passages.append((trimmed, index))
      }
    }
    return passages.map { passage($0.text, line: firstLine + $0.line, isPublic: isPublic) }
  }

  /// Returns the comments of a Swift file. Lines that follow each other are one text, read as Markdown.
  func passages(inSwift text: String, isLibrary: Bool) -> [Passage] {
    var passages: [Passage] = []
    var block: [(text: String, line: Int, isDoc: Bool)] = []
    func close(before next: String) {
      guard let first = block.first else { return }
      let isPublic = isLibrary && first.isDoc && next.firstMatch(of: publicWord) != nil
      let text = block.map(\.text).joined(separator: "\n")
      passages += self.passages(inMarkdown: text, firstLine: first.line, isPublic: isPublic)
      block = []
    }
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let trimmed = line.trimmingCharacters(in: .whitespaces)
      if trimmed.hasPrefix("//") {
        let isDoc = trimmed.hasPrefix("///")
        if let last = block.last, last.isDoc != isDoc { close(before: "") }
        let text = trimmed.dropFirst(isDoc ? 3 : 2)
        block.append((String(text.hasPrefix(" ") ? text.dropFirst() : text), index + 1, isDoc))
        continue
      }
      // Attributes stand between a comment and its declaration.
      if !block.isEmpty, trimmed.hasPrefix("@"), !trimmed.contains(" ") { continue }
      close(before: trimmed)
      if line.utf8.contains(UInt8(ascii: "/")), let comment = line.firstMatch(of: trailingComment) {
        passages.append(passage(String(comment.1), line: index + 1, isPublic: false))
      }
    }
    close(before: "")
    return passages
  }
}
