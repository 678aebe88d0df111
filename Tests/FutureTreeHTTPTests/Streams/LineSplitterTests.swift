import Foundation
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Lines of a body") struct LineSplitterTests {
  /// Returns the lines, and after them the code of the error.
  private func split(_ chunks: [Data], limit: Int = 100, isWhole: Bool = true) -> [String] {
    var splitter = LineSplitter(limit: limit)
    var found: [String] = []
    do throws(HTTPError) {
      for chunk in chunks {
        splitter.receive(chunk)
        while let line = try splitter.next() { found.append(line) }
      }
      if isWhole { splitter.finish() }
      while let line = try splitter.next() { found.append(line) }
    } catch {
      found.append("error: \(error.code)")
    }
    return found
  }

  private func split(_ text: String, limit: Int = 100, isWhole: Bool = true) -> [String] {
    split([Data(text.utf8)], limit: limit, isWhole: isWhole)
  }

  @Test(
    "A line ends with LF or CRLF, and a lone CR is part of it",
    arguments: [
      ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\r\n", ["a"]), ("a\nb", ["a", "b"]), ("a\n\nb\n", ["a", "", "b"]),
      ("\n", [""]), ("\r\n\r\n", ["", ""]), ("a\rb\n", ["a\rb"]), ("a\r\r\n", ["a\r"]), ("a\n\rb", ["a", "\rb"]),
      ("a\r", ["a\r"]), ("\r", ["\r"]), ("ä\u{2028}€😀\u{85}\n", ["ä\u{2028}€😀\u{85}"]), ("a\0b\n", ["a\0b"]),
    ] as [(String, [String])])
  func ends(text: String, lines: [String]) {
    expectEqual(split(text), lines)
  }

  @Test("The last line is returned only after the end")
  func lastLine() {
    expectEqual(split("a\nb", isWhole: false), ["a"])
    expectEqual(split("a\nb\r", isWhole: false), ["a"])
  }

  @Test("One byte order mark at the beginning is removed")
  func byteOrderMark() {
    expectEqual(split("\u{FEFF}a\n\u{FEFF}b"), ["a", "\u{FEFF}b"])
    expectEqual(split("\u{FEFF}\u{FEFF}a"), ["\u{FEFF}a"])
    expectEqual(split("\u{FEFF}"), [])
    expectEqual(split("\u{FEFF}\n"), [""])
    expectEqual(split([Data([0xEF, 0xBB])]), ["error: undecodableBody"])
  }

  @Test("A line with as many bytes as the limit is accepted, and one more is an error", arguments: [0, 1, 2, 3, 4, 9])
  func limit(limit: Int) {
    let line = String(repeating: "a", count: limit)
    for start in ["", "\u{FEFF}"] {
      for end in ["\n", "\r\n"] {
        expectEqual(split("\(start)\(line)\(end)b\n", limit: limit).first, line)
        expectEqual(split("\(start)a\(line)\(end)", limit: limit), ["error: lineTooLong"])
      }
      expectEqual(split("\(start)a\(line)", limit: limit), ["error: lineTooLong"])
    }
    expectEqual(split("\(line)\r", limit: limit), ["error: lineTooLong"])
  }

  @Test("A line without an end exceeds the limit before the end of the body")
  func endless() {
    var splitter = LineSplitter(limit: 10)
    var count = 0

    #expect(throws: HTTPError.self) {
      while count < 1_000 {
        splitter.receive(Data("a".utf8))
        count += 1
        _ = try splitter.next()
      }
    }

    expectEqual(count, 15)
  }

  @Test("An error names the line, follows the earlier lines, and stays")
  func errors() throws {
    var splitter = LineSplitter(limit: 10)
    splitter.receive(Data("one\n\n".utf8) + Data([0x61, 0xC3, 0x28, 0x0A]) + Data("four\n".utf8))

    try expectEqual(splitter.next(), "one")
    try expectEqual(splitter.next(), "")
    for _ in 0..<2 {
      let error = try #require(throws: HTTPError.self) { try splitter.next() }
      expectEqual(error.code, .undecodableBody)
      #expect(error.message.hasPrefix("Line 3 of the body is not UTF-8."))
    }
  }

  @Test(
    "Invalid UTF-8 is an error",
    arguments: [[0x80], [0xC0, 0xAF], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF]] as [[UInt8]])
  func invalid(bytes: [UInt8]) {
    expectEqual(split([Data("a\n".utf8), Data(bytes), Data("\nb\n".utf8)]), ["a", "error: undecodableBody"])
    expectEqual(split([Data("a\n".utf8), Data(bytes)]), ["a", "error: undecodableBody"])
  }

  @Test(
    "Every split of the bytes gives the same lines",
    arguments: [
      "\u{FEFF}a\r\nb\rc\n\r\nä€😀\n\n\r", "\r\n\r\r\n\n", "\u{FEFF}", "\u{FEFF}\u{FEFF}\r", "aaaa\n\u{FEFF}aaaaa\n",
      "a\naaaaaaaaaaa", "aaaaaaaa\r\naaaaaaaa\r",
    ])
  func splits(text: String) {
    let bytes = Data(text.utf8)
    for limit in [0, 2, 5, 8, 9, 100] {
      for cut in [bytes, bytes.dropLast()] {
        let expected = split([cut], limit: limit)
        for chunks in Splits.all(of: cut) {
          expectEqual(split(chunks, limit: limit), expected, "\(chunks.map(Array.init)), limit \(limit)")
        }
      }
    }
  }

  // A search from the beginning of the line after each chunk would examine 20,000,000,000 bytes.
  @Test("Each byte of a long line in small chunks is examined once")
  func longLine() throws {
    let count = 200_000
    var splitter = LineSplitter(limit: count)
    var lines: [String] = []

    for _ in 0..<count {
      splitter.receive(Data([0x61]))
      #expect(try splitter.next() == nil)
    }
    splitter.receive(Data("\nb\n".utf8))
    while let line = try splitter.next() { lines.append(line) }

    expectEqual(lines.map(\.utf8.count), [count, 1])
  }

  // To move the remaining bytes after each line would move 20,000,000,000 bytes.
  @Test("Many lines in one chunk do not move the bytes after them")
  func manyLines() throws {
    let count = 200_000
    var splitter = LineSplitter(limit: 1)
    var found = 0

    splitter.receive(Data(repeating: 0x0A, count: count))
    while try splitter.next() != nil { found += 1 }

    expectEqual(found, count)
  }
}
