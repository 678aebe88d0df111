import Foundation
import FutureTree
import FutureTreeHTTP
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTPTesting
@testable import FutureTreeRecording

extension RecordingTests {
  private func archive(_ paths: String...) -> HTTPArchive {
    let recorder = recorder(.nothing)
    for (number, path) in paths.enumerated() {
      mock.answer(body: "\(number)")
      _ = (recorder --> mock).load(anyRequest(path))
    }
    return recorder.archive
  }

  private func text(_ load: Future<HTTPResponse>) -> String {
    response(load).map { String(decoding: (try? $0.body) ?? Data(), as: UTF8.self) } ?? load.text
  }

  @Test("Each entry answers one request, in order")
  func once() {
    let replayer = HTTPReplayer(archive("/a", "/b", "/a"))

    expectEqual(text(replayer.load(anyRequest("/a"))), "0")
    expectEqual(text(replayer.load(anyRequest("/a"))), "2")
    #expect(replayer.unused == ["GET http://example.com/b"])
    #expect(replayer.load(anyRequest("/a")).text.contains("was used before"))
    expectEqual(text(replayer.load(anyRequest("/b"))), "1")
    expectEqual(replayer.unused, [])
  }

  @Test("A replayer that repeats answers with the last entry again")
  func repeated() {
    let replayer = HTTPReplayer(archive("/a", "/a"), repeats: true)

    expectEqual((0..<4).map { _ in text(replayer.load(anyRequest("/a"))) }, ["0", "1", "1", "1"])
  }

  @Test("An unmatched request names the nearest entry, without values")
  func nearest() {
    let replayer = HTTPReplayer(archive("/a", "/b?page=secret-1", "/c"))

    let error = replayer.load(anyRequest("/b?page=secret-2")).text

    #expect(
      error
        == "HTTPReplayer has no entry for GET http://example.com/b?…. The nearest entry is GET http://example.com/b with the "
        + "query page, which differs in the query. Record again, or match fewer parts.")
    #expect(HTTPReplayer(HTTPArchive()).load(anyRequest()).text.contains("its archive is empty"))
    let other = HTTPReplayer(archive("/d", "/e"))
    _ = other.load(anyRequest("/d"))
    #expect(other.load(anyRequest("/f")).text.contains("nearest entry is GET http://example.com/e,"))
  }

  @Test("An archive of another server, and of requests with only a path")
  func origins() throws {
    var matching = HTTPReplayer.Matching()
    matching.origin = false
    let archive = archive("/a")

    let path = try HTTPRequest(.get, path: "a")
    #expect(HTTPReplayer(archive, matching: matching).load(try HTTPRequest("https://other.org/a")).text == "success")
    expectEqual(HTTPReplayer(archive, matching: matching).load(path).text, "success")
    #expect(HTTPReplayer(archive).load(path).text.contains("the host"))
  }

  @Test("Archives of browsers are read: fields are missing, and bodies are decoded")
  func browser() throws {
    let json = """
      {"log": {"version": "1.2", "creator": {"name": "Browser", "version": "1"}, "pages": [], "entries": [
        {"request": {"method": "GET", "url": "https://example.com/a#b", "headers": [{"name": ":method", "value": "GET"}]},
         "response": {"status": 200, "headers": [{"name": ":status", "value": "200"}, {"name": "content-encoding", "value": "br"},
           {"name": "content-length", "value": "3"}, {"name": "etag", "value": "x"}],
           "content": {"size": 5, "mimeType": "text/plain", "text": "aGVsbG8=", "encoding": "base64"}}}]}}
      """
    let answer = response(HTTPReplayer(try HTTPArchive(Data(json.utf8))).load(try HTTPRequest("https://example.com/a")))

    #expect(try answer?.body == Data("hello".utf8) && answer?.headers.map(\.name) == ["etag"])
  }

  @Test(
    "A file that is not an archive is a clear error",
    arguments: [
      ("", "it is empty"), ("<html>", "it is not JSON"), ("{}", "log is missing"),
      (#"{"log": {}}"#, "log.entries is missing"),
      (#"{"log": {"entries": [{"request": 1}]}}"#, "log.entries[0].request is not of type Dictionary<String, Any>"),
      (#"{"log": {"entries": [{"request": {"method": "GET"}}]}}"#, "log.entries[0].request.url is missing"),
    ])
  func invalid(json: String, reason: String) throws {
    let error = #expect(throws: InvalidArchive.self) { try HTTPArchive(Data(json.utf8)) }
    expectEqual(error?.reason, reason)
  }

  @Test("An archive is written to a file and read again, and damage never ends the process")
  func file() throws {
    let folder = try Folder()
    let file = folder.file("archive.har")
    let archive = archive("/a?b", "/c")
    try archive.write(to: file)
    try expectEqual(HTTPArchive(contentsOf: file), archive)
    #expect(throws: InvalidArchive.self) { try HTTPArchive(contentsOf: file.appendingPathExtension("x")) }

    let bytes = try Data(contentsOf: file)
    for position in bytes.indices {
      var damaged = bytes
      damaged[position] ^= 0x11
      if let read = try? HTTPArchive(damaged) { _ = HTTPReplayer(read).load(anyRequest("/c")) }
      _ = try? HTTPArchive(bytes.prefix(position))
    }
    withExtendedLifetime(folder) {}
  }
}
