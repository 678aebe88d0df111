import Foundation
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

/// What a parser finds in a stream.
private struct Findings: Equatable {
  var events: [ServerSentEvent] = []
  var lastEventID = ""
  var retry: Duration?
  var error: HTTPError.Code?

  init(_ chunks: [Data], limit: Int = 1_000, lastEventID: String = "") {
    var parser = ServerSentEventParser(maximumEventSize: limit, lastEventID: lastEventID)
    do throws(HTTPError) {
      for chunk in chunks {
        parser.receive(chunk)
        while let event = try parser.next() { events.append(event) }
      }
    } catch {
      self.error = error.code
    }
    self.lastEventID = parser.lastEventID
    retry = parser.retry
  }

  init(_ text: String, limit: Int = 1_000) {
    self.init([Data(text.utf8)], limit: limit)
  }

  var data: [String] { events.map(\.data) }
}

@Suite("Events of a stream") struct ServerSentEventParserTests {
  @Test("Empty lines separate events, and lines of data are joined by LF")
  func separate() {
    let found = Findings("data: first\n\ndata: second, with\ndata: two lines\n\n\n\ndata: third\n\n")

    expectEqual(
      found.events, ["first", "second, with\ntwo lines", "third"].map { ServerSentEvent(type: "message", data: $0) })
  }

  @Test("The field event sets the type of one event")
  func type() {
    let found = Findings("event: add\ndata: 7\n\ndata: 8\n\nevent: x\nevent:\ndata: 9\n\nevent: lost\n\ndata: 10\n\n")

    expectEqual(found.events.map(\.type), ["add", "message", "message", "message"])
    expectEqual(found.data, ["7", "8", "9", "10"])
  }

  // The behavior of the second example of section 9.2.6.
  @Test("An ID is valid until an empty one resets it")
  func ids() {
    let found = Findings(": a comment\n\ndata: a\nid: 1\n\ndata:b\nid\n\ndata:  c\n\nid: 2\ndata: d\n\ndata: e\n\n")

    expectEqual(
      found.events,
      [("a", "1"), ("b", ""), (" c", ""), ("d", "2"), ("e", "2")].map { ServerSentEvent(data: $0, id: $1) })
    expectEqual(found.lastEventID, "2")
  }

  // The behavior of the third and the fourth example of section 9.2.6.
  @Test("Data without a value is data, and one space after the colon is removed")
  func emptyData() {
    expectEqual(Findings("data\n\ndata\ndata\n\ndata:").data, ["", "\n"])
    expectEqual(Findings("data:x\n\ndata: x\n\ndata:  x\n\ndata:\tx\n\ndata: \n\n").data, ["x", "x", " x", "\tx", ""])
  }

  @Test("An event without data is not dispatched, but its ID is kept")
  func withoutData() {
    let found = Findings("id: 1\nevent: a\n\nid: 2\n\n")

    #expect(found.events.isEmpty)
    expectEqual(found.lastEventID, "2")
    expectEqual(Findings("id: 1\n\ndata: a\n\n").events, [ServerSentEvent(data: "a", id: "1")])
  }

  @Test("An incomplete event is discarded, with its ID", arguments: ["", "\n"])
  func incomplete(end: String) {
    let found = Findings("id: 1\ndata: a\n\nretry: 5\nid: 2\ndata: b\(end)")

    expectEqual(found.data, ["a"])
    expectEqual(found.lastEventID, "1")
    expectEqual(found.retry, .milliseconds(5))
  }

  @Test("The last event ID is the one of the returned event")
  func idOfReturned() throws {
    var parser = ServerSentEventParser(maximumEventSize: 100, lastEventID: "0")
    parser.receive(Data("data: a\n\nid: 1\ndata: b\n\nid: 2\ndata: c\n\n".utf8))

    for id in ["0", "1", "2"] {
      try expectEqual(parser.next()?.id, id)
      expectEqual(parser.lastEventID, id)
    }
  }

  @Test("An ID with NUL is ignored")
  func nul() {
    expectEqual(Findings("id: 1\nid: 2\0\ndata: a\0\n\n").events, [ServerSentEvent(data: "a\0", id: "1")])
  }

  @Test(
    "The delay of retry is a number of digits, and other values are ignored",
    arguments: [
      ("retry: 1000", 1_000), ("retry:0", 0), ("retry: 007", 7), ("retry", nil), ("retry:", nil), ("retry: 1 ", nil),
      ("retry:  1", nil), ("retry: -1", nil), ("retry: +1", nil), ("retry: 1.5", nil), ("retry: 1e3", nil),
      ("retry: ٣", nil), ("retry: 9223372036854775807", .max), ("retry: 9223372036854775808", nil),
      ("Retry: 1", nil), ("retry: 99999999999999999999999999", nil),
    ] as [(String, Int64?)])
  func retry(line: String, milliseconds: Int64?) {
    expectEqual(Findings(line + "\n").retry, milliseconds.map { .milliseconds($0) })
    expectEqual(Findings("retry: 3\n\(line)\n").retry, .milliseconds(milliseconds ?? 3))
  }

  @Test(
    "Comments and unknown fields are ignored",
    arguments: [
      ":", ": data: b", ":data", "Data: b", "DATA", " data: b", "data : b", "dat", "datas: b", "\u{FEFF}data: b",
    ])
  func ignored(line: String) {
    expectEqual(Findings("data: a\n\(line)\ndata: c\n\n").data, ["a\nc"])
  }

  @Test("A line ends with LF, CRLF or CR", arguments: ["\n", "\r\n", "\r"])
  func lineEnds(end: String) {
    let lines = ["id: 1", "data: a", "data: b", "", "data: c", "", ""]

    expectEqual(Findings(lines.joined(separator: end)).data, ["a\nb", "c"])
  }

  @Test("Line ends can be mixed, and an event does not wait for the LF after a CR")
  func mixedLineEnds() {
    expectEqual(Findings("data: a\rdata: b\r\ndata: c\n\r").data, ["a\nb\nc"])
    expectEqual(Findings("data: a\r\r").data, ["a"])
    expectEqual(Findings("data: a\n\r\ndata: b\r\n\n").data, ["a", "b"])
    expectEqual(Findings("data: a\u{2028}\u{85}b\u{B}\u{C}\n\n").data, ["a\u{2028}\u{85}b\u{B}\u{C}"])
  }

  @Test("One byte order mark at the beginning is removed")
  func byteOrderMark() {
    expectEqual(Findings("\u{FEFF}data: a\n\n").data, ["a"])
    expectEqual(Findings("\u{FEFF}\u{FEFF}data: a\n\n").data, [])
    expectEqual(Findings("data: \u{FEFF}a\n\n").data, ["\u{FEFF}a"])
  }

  @Test(
    "Invalid UTF-8 is replaced as the Encoding standard requires",
    arguments: [
      ([0x80], "�"), ([0xC0, 0xAF], "��"), ([0xE2, 0x82], "�"), ([0xE2, 0x82, 0x41], "�A"),
      ([0xED, 0xA0, 0x80], "���"),
      ([0xF0, 0x9F, 0x98], "�"), ([0xF4, 0x90, 0x80, 0x80], "����"), ([0xFF, 0xFE], "��"),
    ] as [([UInt8], String)])
  func invalid(bytes: [UInt8], text: String) {
    let stream =
      Data("id: ".utf8) + bytes + Data("\ndata: ".utf8) + bytes + Data("\ndata: ".utf8) + bytes + Data("\n\n".utf8)

    expectEqual(Findings([Data(stream)]).events, [ServerSentEvent(data: "\(text)\n\(text)", id: text)])
  }

  @Test("An event with as many bytes as the limit is accepted, and one more is an error")
  func limit() {
    expectEqual(Findings("data: 1234\r\n\r\n", limit: 10).data, ["1234"])
    expectEqual(Findings("data: 12345\n\n", limit: 10).error, .eventTooLarge)
    expectEqual(Findings("data\ndata\n\ndata\ndata\nid\n\n", limit: 10).data, ["\n", "\n"])
    expectEqual(Findings("data\ndata\nid:\n", limit: 10).error, .eventTooLarge)
    expectEqual(Findings("\u{FEFF}data: 1234\n\n", limit: 10).data, ["1234"])
    #expect(Findings("unknown:12\n:12345678\ndata", limit: 10).error == nil)
    expectEqual(Findings("unknown:12\n:12345678\ndata\n", limit: 10).error, .eventTooLarge)
  }

  @Test("Comments are limited one by one")
  func comments() {
    let found = Findings("data\n" + String(repeating: ":234567890\n", count: 1_000) + "\n", limit: 10)

    expectEqual(found.data, [""])
    #expect(found.error == nil)
    expectEqual(Findings(":2345678901\n", limit: 10).error, .eventTooLarge)
    expectEqual(Findings(String(repeating: ":", count: 20), limit: 10).error, .eventTooLarge)
  }

  @Test("An error follows the events before it, and stays")
  func errorStays() throws {
    var parser = ServerSentEventParser(maximumEventSize: 10)
    parser.receive(Data("id: 1\ndata\n\ndata: too long\n\ndata\n\n".utf8))

    try expectEqual(parser.next(), ServerSentEvent(data: "", id: "1"))
    for _ in 0..<2 {
      let error = try #require(throws: HTTPError.self) { try parser.next() }
      expectEqual(error.code, .eventTooLarge)
    }
    expectEqual(parser.lastEventID, "1")
  }

  @Test(
    "Every split of the bytes gives the same events",
    arguments: [
      "\u{FEFF}id: 1\r\ndata: ä€😀\r\r\ndata:\n\n", "data: a\r\n\r\n\r\ndata: b\r\r", "\r\n\u{FEFF}data: a\n\n",
      "retry: 12\r\nid: 3\nevent: x\ndata\r\rretry: 1x\n\n", ":\r\n:\n:\r\rdata: a\rdata: b\n\r",
      "\u{FEFF}\u{FEFF}data\n\n",
      "id: 1\ndata: a\n\nid: 2\ndata: b\n", "event: 😀\ndata: a\0b\nid: \0\n\n",
    ])
  func splits(text: String) {
    let bytes = Data(text.utf8)
    for limit in [1, 6, 12, 1_000] {
      for cut in [bytes, Data(bytes.filter { $0 != 0xBB && $0 != 0x98 })] {
        let expected = Findings([cut], limit: limit)
        for chunks in Splits.all(of: cut) {
          expectEqual(Findings(chunks, limit: limit), expected, "\(chunks.map(Array.init)), limit \(limit)")
        }
      }
    }
  }

  // To join or search the data again after each line or chunk would examine 20,000,000,000 bytes.
  @Test("Each byte of a large event in small chunks is examined once")
  func largeEvents() {
    let count = 200_000
    let stream = Data(("data" + String(repeating: "\ndata:1", count: count / 7) + "\n\n").utf8)
    let line = Data(("data:" + String(repeating: "1", count: count) + "\n\n").utf8)

    expectEqual(Findings(stream.map { Data([$0]) }, limit: 2 * count).data.map(\.utf8.count), [count / 7 * 2])
    expectEqual(Findings(line.map { Data([$0]) }, limit: 2 * count).data.map(\.utf8.count), [count])
  }

  @Test("The printed event shows its type and size, without data and ID")
  func printing() {
    let event = ServerSentEvent(type: "price\n", data: "€ \(sentinel)", id: sentinel)

    expectEqual(event.description, "price\\u{A} (\(4 + sentinel.utf8.count) bytes)")
    expectEqual(ServerSentEvent(data: "a").description, "message (1 byte)")
    #expect(!showsSecret(event))
  }
}
