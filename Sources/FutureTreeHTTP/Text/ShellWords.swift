/// The words of a command line, as a POSIX shell reads them (IEEE Std 1003.1-2024, section 2.2).
///
/// Nothing is expanded and nothing is run: what a shell would replace by other text is an error.
struct ShellWords {
  /// The words of each command of a pipe.
  private(set) var commands: [[[UInt8]]] = [[]]
  private var rest: ArraySlice<UInt8>
  private var word: [UInt8] = []
  /// Whether a word has begun. It can be empty, in quotes.
  private var isInWord = false

  /// A fault of a command line, without its text, which may contain secrets.
  struct Fault: Error {
    /// The end of a sentence about the command, and what to do.
    let text: String

    fileprivate static let openQuote = Fault(text: "has a quote that does not end. Paste the whole command.")
    fileprivate static let expansion = Fault(
      text: "has a part that a shell would replace, such as $NAME. Write its value, in single quotes.")
    fileprivate static let escape = Fault(
      text: "has an escape sequence in $'…' that is no character. Write the character itself.")
  }

  /// - Complexity: O(size of the text).
  init(_ text: String) throws(Fault) {
    rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() { try read(byte) }
    endWord()
  }

  private mutating func read(_ byte: UInt8) throws(Fault) {
    switch UnicodeScalar(byte) {
    case " ", "\t": endWord()
    case "\n", "\r":
      guard rest.allSatisfy({ " \t\r\n".utf8.contains($0) }) else {
        throw Fault(text: "has a line break outside of quotes. End each line except the last one with a backslash.")
      }
      endWord()
      rest = []
    case "|":
      endWord()
      commands.append([])
    case "'":
      guard let quote = rest.firstIndex(of: byte) else { throw Fault.openQuote }
      append(rest[..<quote])
      rest = rest[(quote + 1)...]
    case "\"": try readQuoted()
    case "\\":
      if skipLineBreak() { break }
      if let next = rest.popFirst() { append([next]) }
    case "$" where rest.first == UInt8(ascii: "'"):
      rest.removeFirst()
      try readEscaped()
    case "$": try readDollar()
    case "`": throw Fault.expansion
    case "&", ";", "<", ">", "(", ")":
      throw Fault(
        text: "has the character \(UnicodeScalar(byte)) outside of quotes. Put the URL and each value in single quotes."
      )
    case "#" where !isInWord: throw Fault(text: "has a comment. Remove it, or put the value in single quotes.")
    default: append([byte])
    }
  }

  private mutating func append(_ bytes: some Collection<UInt8>) {
    word.append(contentsOf: bytes)
    isInWord = true
  }

  private mutating func endWord() {
    if isInWord { commands[commands.count - 1].append(word) }
    (word, isInWord) = ([], false)
  }

  private mutating func skipLineBreak() -> Bool {
    guard let size = [[0x0A], [0x0D, 0x0A]].first(where: { rest.starts(with: $0) })?.count else { return false }
    rest = rest.dropFirst(size)
    return true
  }

  /// Reads to the end of double quotes.
  private mutating func readQuoted() throws(Fault) {
    append([])
    while let byte = rest.popFirst() {
      switch UnicodeScalar(byte) {
      case "\"": return
      case "\\":
        if skipLineBreak() { break }
        if let next = rest.first, "$`\"\\".utf8.contains(next) { append([rest.removeFirst()]) } else { append([byte]) }
      case "`": throw Fault.expansion
      case "$": try readDollar()
      default: append([byte])
      }
    }
    throw Fault.openQuote
  }

  /// A dollar sign is itself, unless the name of a parameter, a brace or a parenthesis follows.
  private mutating func readDollar() throws(Fault) {
    if let next = rest.first, ASCII.isLetter(next) || ASCII.isDigit(next) || "_{(@*#?$!-".utf8.contains(next) {
      throw Fault.expansion
    }
    append([UInt8(ascii: "$")])
  }

  /// Reads to the end of `$'…'`.
  private mutating func readEscaped() throws(Fault) {
    append([])
    while let byte = rest.popFirst() {
      switch UnicodeScalar(byte) {
      case "'": return
      case "\\": try readEscape()
      default: append([byte])
      }
    }
    throw Fault.openQuote
  }

  private static let escapes: [UnicodeScalar: UInt8] = [
    "a": 0x07, "b": 0x08, "e": 0x1B, "E": 0x1B, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B, "\\": 0x5C,
    "'": 0x27,
    "\"": 0x22, "?": 0x3F,
  ]

  private mutating func readEscape() throws(Fault) {
    guard let kind = rest.first.map({ UnicodeScalar($0) }) else { throw Fault.openQuote }
    if ("0"..."7").contains(kind) { return append([UInt8(truncatingIfNeeded: try readNumber(radix: 8, digits: 3))]) }
    rest.removeFirst()
    switch kind {
    case "x": append([UInt8(truncatingIfNeeded: try readNumber(radix: 16, digits: 2))])
    case "u", "U":
      guard let scalar = UnicodeScalar(UInt32(try readNumber(radix: 16, digits: kind == "u" ? 4 : 8))) else {
        throw Fault.escape
      }
      append(String(Character(scalar)).utf8)
    default:
      guard let byte = ShellWords.escapes[kind] else { throw Fault.escape }
      append([byte])
    }
  }

  private mutating func readNumber(radix: Int, digits: Int) throws(Fault) -> Int {
    var number: Int?
    for _ in 0..<digits {
      guard let digit = rest.first.flatMap({ Character(UnicodeScalar($0)).hexDigitValue }), digit < radix else { break }
      number = (number ?? 0) * radix + digit
      rest.removeFirst()
    }
    guard let number else { throw Fault.escape }
    return number
  }
}
