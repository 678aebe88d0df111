import Foundation
import FutureTreeHTTP
import Testing

@Suite("Reading bodies") struct HTTPBodyReaderTests {
  private struct Broken: Error {}

  /// A reader of these chunks, whatever is asked for.
  private func yielding(_ chunks: [String]) -> HTTPBodyReader {
    var rest = chunks[...]
    return HTTPBodyReader { _ in Data((rest.popFirst() ?? "").utf8) }
  }

  @Test("each kind of body is read whole, in pieces of at most what was asked for")
  func kinds() throws {
    let file = try TemporaryFile("0123456789")
    let stream = HTTPBody.stream { HTTPBodyReader(InputStream(data: Data("0123456789".utf8))) }

    for body in [.data(Data("0123456789".utf8)), .file(file.url), stream] {
      let pieces = try body.pieces(of: 4)

      #expect(pieces.allSatisfy { (1...4).contains($0.count) && $0.startIndex == 0 })
      #expect(pieces.reduce(Data(), +) == Data("0123456789".utf8))
    }
    #expect(try HTTPBody.empty.bytes().isEmpty)
    withExtendedLifetime(file) {}
  }

  @Test("a stream that yields fewer or more bytes than were announced is no body", arguments: [3, 5])
  func wrongLength(length: Int) throws {
    let body = HTTPBody.stream(length: length) { yielding(["ab", "c", "d"]) }

    let error = #expect(throws: HTTPError.self) { try body.bytes() }

    #expect(error?.code == .wrongBodyLength)
  }

  @Test("a stream of the announced length ends without an error, and stays at its end")
  func rightLength() throws {
    let reader = try HTTPBody.stream(length: 4) { yielding(["ab", "cd"]) }.makeReader()

    let pieces = try (0..<4).map { _ in try reader.read(upTo: 2) }

    #expect(pieces == [Data("ab".utf8), Data("cd".utf8), Data(), Data()])
  }

  @Test("a body that is too long fails before its last announced byte is passed on")
  func tooLong() throws {
    let reader = try HTTPBody.stream(length: 3) { yielding(["ab", "c", "d"]) }.makeReader()

    #expect(try reader.read(upTo: 2) == Data("ab".utf8))
    #expect(throws: HTTPError.self) { try reader.read(upTo: 2) }
  }

  @Test("a source that returns more than was asked for is an error")
  func greedy() throws {
    let error = #expect(throws: HTTPError.self) { try HTTPBodyReader { _ in Data(count: 3) }.read(upTo: 2) }

    #expect(error?.code == .unreadableBody)
  }

  @Test("what a source throws is underlying, and is not printed")
  func thrown() throws {
    let open = HTTPBody.stream { throw Broken() }
    let read = HTTPBody.stream { HTTPBodyReader { _ in throw Broken() } }

    for body in [open, read] {
      let error = #expect(throws: HTTPError.self) { try body.bytes() }
      #expect(error?.code == .unreadableBody)
      #expect(error?.underlying is Broken)
    }
  }

  @Test("a file that is missing, a folder, a device, and a URL of the web are no bodies")
  func noFiles() throws {
    let missing = FileManager.default.temporaryDirectory.appendingPathComponent("FutureTree-is-missing")
    let web = try #require(URL(string: "http://example.com/"))
    let folder = FileManager.default.temporaryDirectory
    let device = URL(fileURLWithPath: "/dev/null")

    for url in [missing, folder, device, web] {
      let error = #expect(throws: HTTPError.self) { try HTTPBody.file(url).makeReader() }
      #expect(error?.code == .unreadableBody)
    }
  }

  @Test("a file that grows or shrinks while it is read fails", arguments: [-5, 5])
  func changingFile(change: Int) throws {
    let file = try TemporaryFile(String(repeating: "a", count: 100))
    let reader = try HTTPBody.file(file.url).makeReader()
    _ = try reader.read(upTo: 10)

    try file.resize(to: 100 + change)
    let error = #expect(throws: HTTPError.self) { while try !reader.read(upTo: 50).isEmpty {} }

    #expect(error?.code == .wrongBodyLength)
  }
}
