import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTPTesting
@testable import FutureTreeRecording

@Suite("Recording and replaying") struct RecordingTests {
  let mock = MockLoader(clock: ManualClock())
  private let clock = ManualClock()

  func recorder(_ redaction: Redaction = .standard, maximumBodySize: Int = 1000) -> HTTPRecorder {
    HTTPRecorder(redacting: redaction, maximumBodySize: maximumBodySize, date: clock.wallClock(), clock: clock)
  }

  /// Records one load, and returns what its replay answers to the same request.
  private func replayed(
    _ request: HTTPRequest = anyRequest(), matching: HTTPReplayer.Matching = .init(), _ redaction: Redaction = .standard
  ) throws -> Future<HTTPResponse> {
    let recorder = recorder(redaction)
    _ = (recorder --> mock).load(request)
    let archive = try HTTPArchive(recorder.archive.data())
    expectEqual(archive, recorder.archive)
    expectEqual(archive.count, 1)
    return HTTPReplayer(archive, matching: matching).load(request)
  }

  func response(_ load: Future<HTTPResponse>) -> HTTPResponse? {
    load.outcomeIfCompleted.flatMap { try? $0.get() }
  }

  @Test(
    "A response is replayed with its status, its fields and its body",
    arguments: [Data("text é".utf8), Data([0xFF, 0]), Data()])
  func whole(body: Data) throws {
    let fields = try HTTPHeaders([("Content-Type", "text/plain"), ("X-A", "1"), ("X-A", "2"), ("ETag", "\"a\"")])
    mock.onOthers(.respond(status: .created, headers: fields, body: body))

    let answer = response(try replayed(anyRequest("/a?b=c&d")))

    expectEqual(answer?.status, .created)
    expectEqual(answer?.headers, fields)
    #expect(try answer?.body == body && answer?.request.path == "/a")
  }

  @Test("The format is HAR 1.2, with the date, the duration and the parts of the request")
  func format() throws {
    let recorder = recorder(.nothing)
    var request = anyRequest("/a?b=c")
    request.method = .post
    request.body = .data(Data("{}".utf8), contentType: "application/json")
    try request.setHeader("Accept", "text/plain")
    let held = mock.hold()
    _ = (recorder --> mock).load(request)
    clock.advance(by: .milliseconds(1500))
    held.answer(status: .ok, headers: try HTTPHeaders([("Location", "/x")]), body: "done")

    let json = try JSONSerialization.jsonObject(with: recorder.archive.data()) as? [String: Any]
    let log = try #require(json?["log"] as? [String: Any])
    let entry = try #require((log["entries"] as? [[String: Any]])?.first)
    let sent = try #require(entry["request"] as? [String: Any])
    let received = try #require(entry["response"] as? [String: Any])

    expectEqual(log["version"] as? String, "1.2")
    #expect((log["creator"] as? [String: String])?["name"] == "FutureTree")
    expectEqual(entry["startedDateTime"] as? String, "2027-01-15T08:00:00.000Z")
    expectEqual(entry["time"] as? Double, 1500)
    #expect(entry["cache"] is [String: Any] && (entry["timings"] as? [String: Double])?["wait"] == 1500)
    #expect(sent["method"] as? String == "POST" && sent["url"] as? String == "http://example.com/a?b=c")
    expectEqual(sent["headers"] as? [[String: String]], [["name": "Accept", "value": "text/plain"]])
    expectEqual(sent["queryString"] as? [[String: String]], [["name": "b", "value": "c"]])
    expectEqual((sent["postData"] as? [String: Any])?["text"] as? String, "{}")
    expectEqual(received["status"] as? Int, 200)
    expectEqual(received["redirectURL"] as? String, "/x")
    expectEqual((received["content"] as? [String: Any])?["text"] as? String, "done")
    for part in [sent, received] {
      expectEqual(part["httpVersion"] as? String, "HTTP/1.1")
      #expect(part["cookies"] is [Any])
      expectEqual(part["headersSize"] as? Int, -1)
    }
  }

  @Test("Secrets are not recorded, and a hidden value matches every value")
  func secrets() throws {
    let recorder = recorder()
    var request = anyRequest("/a?token=secret-1&page=secret-2")
    request.method = .post
    request.body = .data(Data("secret-3".utf8))
    for name in ["Authorization", "Cookie", "X-Own"] { try request.setHeader(name, "secret-4") }
    let fields = [
      ("Set-Cookie", "secret-5"), ("Content-Type", "text/plain"), ("Location", "/x?code=secret-6#secret-7"),
      ("Content-Location", "/y"), ("Location", "/é?\u{301}code=secret-8#\u{301}secret-9"),
    ]
    mock.answer(headers: received(fields), body: "body")
    _ = (recorder --> mock).load(request)

    let text = String(decoding: try recorder.archive.data(), as: UTF8.self)
    #expect(!text.contains("secret") && text.contains("body") && text.contains("text/plain"))
    var dumped = "\(recorder.archive)"
    dump(recorder, to: &dumped)
    #expect(!dumped.contains("secret") && !dumped.contains("body"))

    #expect(text.contains("\"/x?code=REDACTED#REDACTED\"") && text.contains("\"/y\""))

    var matching = HTTPReplayer.Matching()
    matching.headers = ["x-own"]
    matching.body = true
    var other = anyRequest("/a?page=3&token=2")
    other.method = .post
    other.body = .data(Data("other".utf8))
    expectEqual(HTTPReplayer(recorder.archive, matching: matching).load(other).text, "success")
    let third = HTTPReplayer(recorder.archive).load(anyRequest("/a?page=3&token=2&x=1"))
    #expect(third.text.contains("the method and the query"))
  }

  @Test("With the redaction `nothing`, everything is recorded and compared")
  func nothing() throws {
    var request = anyRequest("/?a=1&b=2")
    request.method = .put
    request.body = .data(Data("one".utf8))
    mock.answer(headers: try HTTPHeaders([("Set-Cookie", "a=1")]))
    let recorder = recorder(.nothing)
    _ = (recorder --> mock).load(request)
    var matching = HTTPReplayer.Matching()
    matching.body = true

    var reordered = anyRequest("/?b=2&a=1")
    reordered.method = .put
    reordered.body = .data(Data("two".utf8))
    #expect(HTTPReplayer(recorder.archive, matching: matching).load(reordered).text.contains("differs in the body"))
    reordered.body = .data(Data("one".utf8))
    let answer = response(HTTPReplayer(recorder.archive, matching: matching).load(reordered))
    expectEqual(answer?.headers["Set-Cookie"], "a=1")
  }

  @Test("A failed load is replayed with its code, and a cancelled load is not recorded")
  func failures() throws {
    mock.fail(HTTPError(.connectionLost, "The server closed the connection."))
    try expectEqual(replayed().outcomeIfCompleted?.code, .connectionLost)

    let recorder = recorder()
    let held = mock.hold()
    let load = (recorder --> mock).load(anyRequest())
    load.cancel()
    held.complete(.cancelled)
    expectEqual(load.text, "cancelled")
    expectEqual(recorder.archive.count, 0)
  }

  @Test("A stream is recorded when its transfer has ended, and replayed as a stream")
  func streams() async throws {
    let recorder = recorder()
    var request = anyRequest()
    request.delivery = .stream()
    let held = mock.stream()
    let stream = try await (recorder --> mock).load(request).value.bodyStream
    held.send("one ")
    expectEqual(recorder.archive.count, 0)
    held.send("two")
    held.finish()
    try await expectEqual(stream.reduce(into: Data()) { $0 += $1 }, Data("one two".utf8))
    expectEqual(recorder.archive.count, 1)

    let replayed = try await HTTPReplayer(recorder.archive).load(request).value.bodyStream

    try await expectEqual(replayed.reduce(into: Data()) { $0 += $1 }, Data("one two".utf8))
  }

  @Test("A stream that fails is recorded as a failure, and one that is cancelled is not recorded")
  func cutStreams() async throws {
    let recorder = recorder()
    var request = anyRequest()
    request.delivery = .stream()
    let held = [mock.stream(), mock.stream()]
    let first = try await (recorder --> mock).load(request).value
    held[0].fail(HTTPError(.truncatedBody, "The body was cut."))
    let second = try await (recorder --> mock).load(request).value
    second.transfer.cancel()
    held[1].completeCancelled()

    expectEqual(recorder.archive.count, 1)
    expectEqual(HTTPReplayer(recorder.archive).load(request).outcomeIfCompleted?.code, .truncatedBody)
    withExtendedLifetime(first) {}
  }

  @Test("A file is recorded, and replayed as a file")
  func files() throws {
    let folder = try Folder()
    mock.answer(body: "bytes")
    var request = anyRequest()
    request.delivery = .file(folder.file("one"))
    let recorder = recorder()
    _ = (recorder --> mock).load(request)
    request.delivery = .file(folder.file("two"))

    expectEqual(HTTPReplayer(recorder.archive).load(request).text, "success")
    try expectEqual(Data(contentsOf: folder.file("two")), Data("bytes".utf8))
  }

  @Test("A body that is too large is omitted, and its replay fails")
  func tooLarge() throws {
    let recorder = recorder(maximumBodySize: 3)
    mock.answer(body: "1234")
    _ = (recorder --> mock).load(anyRequest())

    let replay = HTTPReplayer(recorder.archive).load(anyRequest())

    #expect(replay.text.contains("was not recorded") && replay.text.contains("record it again"))
  }

  @Test("Entries are in the order in which their loads began")
  func order() throws {
    let recorder = recorder()
    let held = (0..<20).map { _ in mock.hold() }
    for number in held.indices { _ = (recorder --> mock).load(anyRequest("/\(number)")) }
    for answer in held.reversed() { answer.answer() }

    #expect(recorder.archive.entries.map(\.request.url) == held.indices.map { "http://example.com/\($0)" })
  }

  @Test("A reset removes the entries, and loads from before it are not recorded")
  func reset() {
    let recorder = recorder()
    mock.answer()
    _ = (recorder --> mock).load(anyRequest())
    let held = mock.hold()
    _ = (recorder --> mock).load(anyRequest())

    _ = (recorder --> MockLoader()).reset()
    expectEqual(recorder.archive.count, 0)
    held.answer()

    expectEqual(recorder.archive.count, 0)
  }
}
