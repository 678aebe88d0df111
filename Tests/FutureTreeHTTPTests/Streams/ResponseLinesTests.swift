import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Lines of a response") struct ResponseLinesTests {
  private let clock = ManualClock()
  private let stops = Locked(0)
  private let request: HTTPRequest

  init() throws {
    request = try HTTPRequest("http://example.com/feed?key=\(sentinel)")
  }

  private func makeStream() -> (response: HTTPResponse, writer: HTTPBodyWriter) {
    let (stream, writer) = HTTPBodyStream.makeStream(for: request, clock: clock)
    writer.onStop { [stops] in stops.withLock { $0 += 1 } }
    return (HTTPResponse(to: request, status: .ok, content: .stream(stream)), writer)
  }

  /// Returns the response whose body has arrived in these chunks.
  private func response(_ chunks: [Data]) throws -> HTTPResponse {
    let (response, writer) = makeStream()
    for chunk in chunks { try writer.write(chunk) }
    writer.finish()
    return response
  }

  private func buffered(_ body: String) -> HTTPResponse {
    HTTPResponse(to: request, status: .ok, body: Data(body.utf8))
  }

  /// Returns the elements, and after them the code of the error.
  private func all<Elements: AsyncSequence>(_ elements: Elements) async -> [String] {
    var found: [String] = []
    do {
      for try await element in elements { found.append("\(element)") }
    } catch {
      let error: any Error = error  // In a generic function, its type would be the type of the sequence's errors.
      found.append((error as? HTTPError).map { "error: \($0.code)" } ?? "\(type(of: error))")
    }
    return found
  }

  @Test("Every division into chunks gives the same lines and the same values")
  func splits() async throws {
    let body = Data("\u{FEFF}1\r\n\n 22 \n\r\n€\n3".utf8)

    for chunks in Splits.all(of: body) {
      await expectEqual(all(try response(chunks).lines), ["1", "", " 22 ", "", "€", "3"])
      await expectEqual(all(try response(chunks).jsonLines(of: Int.self)), ["1", "22", "error: undecodableBody"])
      await expectEqual(all(try response(chunks).lines(limit: 2)), ["1", "", "error: lineTooLong"])
    }
  }

  @Test("A buffered body can be read any number of times, and a stream once")
  func bodies() async throws {
    let response = buffered("1\n2")
    for _ in 1...2 {
      await expectEqual(all(response.lines), ["1", "2"])
      await expectEqual(all(response.jsonLines(of: Int.self)), ["1", "2"])
    }
    let file = try TemporaryFile("in a\nfile")
    let inFile = HTTPResponse(to: request, status: .ok, content: .file(file.url, size: 9))
    await expectEqual(all(inFile.lines), ["in a", "file"])

    let stream = try self.response([Data("1".utf8)])
    await expectEqual(all(stream.lines), ["1"])
    await expectEqual(all(stream.lines), ["error: bodyAlreadyRead"])
    await expectEqual(all(stream.jsonLines(of: Int.self)), ["error: bodyAlreadyRead"])
  }

  @Test("A line arrives before the end of the body")
  func live() async throws {
    let (response, writer) = makeStream()
    var lines = response.lines.makeAsyncIterator()
    try writer.write(Data("a\nb".utf8))

    try await expectEqual(lines.next(), "a")
    #expect(!response.transfer.isCompleted)

    try writer.write(Data("\n".utf8))
    try await expectEqual(lines.next(), "b")
    writer.finish()
    for _ in 1...2 { #expect(try await lines.next() == nil) }
  }

  @Test("A line can have 1 MiB by default")
  func defaultLimit() async throws {
    let longest = String(repeating: "a", count: 1 << 20)

    await expectEqual(all(buffered(longest).lines), [longest])
    await expectEqual(all(buffered(longest + "a").lines), ["error: lineTooLong"])
    await expectEqual(all(buffered(longest + "a").jsonLines(of: Int.self)), ["error: lineTooLong"])
  }

  @Test("An error names the request without its query and the line, ends the iteration and stays")
  func errors() async throws {
    for (response, code) in [
      (try response([Data("a\n".utf8), Data([0xFF, 0x0A]), Data("b".utf8)]), HTTPError.Code.undecodableBody),
      (buffered("a\n\(String(repeating: "b", count: 20))\nc"), .lineTooLong),
    ] {
      var lines = response.lines(limit: 10).makeAsyncIterator()

      try await expectEqual(lines.next(), "a")
      for _ in 1...2 {
        let error = await #expect(throws: HTTPError.self) { try await lines.next() }
        expectEqual(error?.code, code)
        #expect(error?.message.hasPrefix("GET http://example.com/feed?…: Line 2 of the body") == true)
      }
    }
  }

  @Test("The lines before an error of the transfer are returned, without the incomplete one")
  func transferFails() async throws {
    let (response, writer) = makeStream()
    try writer.write(Data("a\nb\nc".utf8))
    writer.fail(HTTPError(.connectionLost, "The connection was closed. Load again."))

    await expectEqual(all(response.lines), ["a", "b", "error: connectionLost"])
  }

  @Test("The descriptions contain neither the query nor the body")
  func redaction() {
    let response = buffered(sentinel)

    #expect("\(response.lines)" == "lines of GET http://example.com/feed?…")
    #expect("\(response.jsonLines(of: Int.self))" == "JSON lines of Int of GET http://example.com/feed?…")
    for value in [response.lines, response.jsonLines(of: Int.self)] as [Any] {
      var dumped = ""
      dump(value, to: &dumped)
      #expect(!dumped.contains(sentinel))
    }
  }
}

// MARK: - JSON

extension ResponseLinesTests {
  private struct Reading: Decodable, CustomStringConvertible {
    struct Place: Decodable { let floor: Int }

    let place: Place
    var description: String { "\(place.floor)" }
  }

  @Test("A line that cannot be decoded names its number and the coding path, and no value")
  func undecodable() async throws {
    let good = #"{"place": {"floor": 1}}"#
    for (line, fault) in [
      (#"{"place": {"floor": "\#(sentinel)"}}"#, "place.floor is not of type Int. Compare the line with the type."),
      (#"{"place": {}}"#, "place.floor is missing. Compare"),
      ("\(sentinel)", "the line is not JSON. The response has no content type. Compare"),
    ] {
      let response = buffered("\(good)\n\n \t\r\n\(line)\n\(good)")
      var values = response.jsonLines(of: Reading.self).makeAsyncIterator()

      try await expectEqual(values.next()?.place.floor, 1)
      for _ in 1...2 {
        let error = await #expect(throws: HTTPError.self) { try await values.next() }
        let start = "Line 4 of the response to GET http://example.com/feed?… cannot be decoded as Reading: "
        #expect(error?.code == .undecodableBody && error?.message.hasPrefix(start + fault) == true, "\(error as Any)")
        expectEqual(error?.message.contains(sentinel), false)
      }
    }
  }

  @Test("The decoder of the caller is used")
  func decoder() async throws {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .secondsSince1970
    let dates = buffered("0\n1").jsonLines(of: Date.self, decoder: decoder)

    try await expectEqual(dates.reduce(into: []) { $0.append($1.timeIntervalSince1970) }, [0, 1])
  }

  @Test("A line that cannot be decoded closes the connection")
  func undecodableStops() async throws {
    let (response, writer) = makeStream()
    try writer.write(Data("x\n".utf8))
    var values = response.jsonLines(of: Int.self).makeAsyncIterator()

    await #expect(throws: HTTPError.self) { try await values.next() }

    expectEqual(stops.value, 1)
    expectEqual(writer.transfer.cancelRequest?.options, .doNotForwardIfOthersWaiting)
  }
}

// MARK: - Ending early

extension ResponseLinesTests {
  @Test("Leaving the loop closes the connection, also if lines are left")
  func leaves() async throws {
    let (response, writer) = makeStream()
    try writer.write(Data("a\nb\n".utf8))

    for try await _ in response.lines { break }

    expectEqual(stops.value, 1)
    expectEqual(writer.transfer.cancelRequest?.options, .doNotForwardIfOthersWaiting)
  }

  @Test("A line that is too long closes the connection")
  func tooLong() async throws {
    let (response, writer) = makeStream()
    try writer.write(Data("aaaaaaaa".utf8))
    var lines = response.lines(limit: 2).makeAsyncIterator()

    await #expect(throws: HTTPError.self) { try await lines.next() }

    expectEqual(stops.value, 1)
  }

  @Test("A cancelled task stops waiting at once, and closes the connection")
  func taskCancelled() async throws {
    let (response, writer) = makeStream()
    let task = Task { await all(response.lines) }
    while !writer.isAwaited { await Task.yield() }
    task.cancel()

    await expectEqual(task.value, ["CancellationError"])
    expectEqual(stops.value, 1)
  }

  @Test("A cancelled task gets no further line, and no shorter body")
  func cancelledBetweenLines() async throws {
    for response in [buffered("a\nb\n"), try response([Data("a\nb\n".utf8)])] {
      let task = Task {
        var lines = response.lines.makeAsyncIterator()
        let first = try await lines.next()
        withUnsafeCurrentTask { $0?.cancel() }
        for _ in 1...2 { await #expect(throws: CancellationError.self) { try await lines.next() } }
        return first
      }

      try await expectEqual(task.value, "a")
    }
  }

  @Test("A cancelled transfer ends the lines with its reason")
  func transferCancelled() async throws {
    let (response, writer) = makeStream()
    try writer.write(Data("a\nb\n".utf8))
    var lines = response.lines.makeAsyncIterator()
    try await expectEqual(lines.next(), "a")

    response.transfer.cancel(reason: "the user pressed Stop")
    writer.fail(HTTPError(.connectionLost, "The connection was closed."))

    // The lines of the chunk that was read are complete.
    try await expectEqual(lines.next(), "b")
    let error = await #expect(throws: FutureCancelled.self) { try await lines.next() }
    expectEqual(error?.reason.message, "the user pressed Stop")
  }
}
