import Foundation
import FutureTreeHTTP
import TestSupport
import Testing

@Suite("Reading bodies") struct HTTPBodyReaderTests {
  private struct Broken: Error {}

  /// A reader that yields these chunks, whatever size is requested.
  private func yielding(_ chunks: [String]) -> HTTPBodyReader {
    var rest = chunks[...]
    return HTTPBodyReader { _ in Data((rest.popFirst() ?? "").utf8) }
  }

  @Test("Each kind of body is read whole, in pieces of at most the requested size")
  func kinds() throws {
    let file = try TemporaryFile("0123456789")
    let stream = HTTPBody.stream { HTTPBodyReader(InputStream(data: Data("0123456789".utf8))) }

    for body in [.data(Data("0123456789".utf8)), .file(file.url), stream] {
      let pieces = try body.pieces(of: 4)

      #expect(pieces.allSatisfy { (1...4).contains($0.count) && $0.startIndex == 0 })
      expectEqual(pieces.reduce(Data(), +), Data("0123456789".utf8))
    }
    #expect(try HTTPBody.empty.bytes().isEmpty)
    withExtendedLifetime(file) {}
  }

  @Test("A stream with fewer or more bytes than announced fails", arguments: [3, 5])
  func wrongLength(length: Int) throws {
    let body = HTTPBody.stream(length: length) { yielding(["ab", "c", "d"]) }

    let error = #expect(throws: HTTPError.self) { try body.bytes() }

    expectEqual(error?.code, .wrongBodyLength)
  }

  @Test("A stream of the announced length ends without an error, and stays at its end")
  func rightLength() throws {
    let reader = try HTTPBody.stream(length: 4) { yielding(["ab", "cd"]) }.makeReader()

    let pieces = try (0..<4).map { _ in try reader.read(upTo: 2) }

    expectEqual(pieces, [Data("ab".utf8), Data("cd".utf8), Data(), Data()])
  }

  @Test("An oversized body fails before its last announced byte is delivered")
  func tooLong() throws {
    let reader = try HTTPBody.stream(length: 3) { yielding(["ab", "c", "d"]) }.makeReader()

    try expectEqual(reader.read(upTo: 2), Data("ab".utf8))
    #expect(throws: HTTPError.self) { try reader.read(upTo: 2) }
  }

  @Test("A source that returns more bytes than requested is an error")
  func greedy() throws {
    let error = #expect(throws: HTTPError.self) { try HTTPBodyReader { _ in Data(count: 3) }.read(upTo: 2) }

    expectEqual(error?.code, .unreadableBody)
  }

  @Test("An error of the source is the underlying error")
  func thrown() throws {
    let open = HTTPBody.stream { throw Broken() }
    let read = HTTPBody.stream { HTTPBodyReader { _ in throw Broken() } }

    for body in [open, read] {
      let error = #expect(throws: HTTPError.self) { try body.bytes() }
      expectEqual(error?.code, .unreadableBody)
      #expect(error?.underlying is Broken)
    }
  }

  @Test("A missing file, a folder, a device and a web URL are not bodies")
  func noFiles() throws {
    let missing = FileManager.default.temporaryDirectory.appendingPathComponent("FutureTree-is-missing")
    let web = try #require(URL(string: "http://example.com/"))
    let folder = FileManager.default.temporaryDirectory
    let device = URL(fileURLWithPath: "/dev/null")

    for url in [missing, folder, device, web] {
      let error = #expect(throws: HTTPError.self) { try HTTPBody.file(url).makeReader() }
      expectEqual(error?.code, .unreadableBody)
    }
  }

  @Test("A file that grows or shrinks while it is read fails", arguments: [-5, 5])
  func changingFile(change: Int) throws {
    let file = try TemporaryFile(String(repeating: "a", count: 100))
    let reader = try HTTPBody.file(file.url).makeReader()
    _ = try reader.read(upTo: 10)

    try file.resize(to: 100 + change)
    let error = #expect(throws: HTTPError.self) { while try !reader.read(upTo: 50).isEmpty {} }

    expectEqual(error?.code, .wrongBodyLength)
  }
}
