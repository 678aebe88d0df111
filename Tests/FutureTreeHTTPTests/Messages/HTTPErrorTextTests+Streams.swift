import Foundation
import FutureTree
import FutureTreeTesting
import HTTPTestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

extension HTTPErrorTextTests {
  /// A body of ten bytes that can be resumed.
  private var resumable: ResumeState {
    ResumeState(validator: "\"v1\"", origin: "http://example.com", total: 10, position: 0)
  }

  private func resumed(_ response: HTTPResponse) throws -> Bool {
    var state = resumable
    return try state.accepts(response)
  }

  private func partialFile(in directory: URL) throws -> PartialFile? {
    try PartialFile(of: anyRequest(), in: directory, for: URL(filePath: "/a"))
  }

  var streams: [Failure] {
    [
      ("bodyInStream", { _ = try HTTPResponse(to: anyRequest(), status: .ok, content: .stream(stream().stream)).body }),
      (
        "bodyAlreadyRead",
        {
          let (stream, writer) = stream()
          writer.finish()
          for try await _ in stream {}
          for try await _ in stream {}
        }
      ),
      (
        "streamOverflow",
        {
          let (stream, writer) = stream()
          try withExtendedLifetime(stream) { for _ in 0..<2 { _ = try writer.write(Data(count: 20 << 20)) } }
        }
      ),
      (
        "bodyNotRead",
        {
          let clock = ManualClock()
          let (stream, writer) = stream(clock)
          clock.advance(by: .seconds(60))
          try await withExtendedLifetime(writer) { stream.transfer }.value
        }
      ),
      (
        "transportFailed",
        { for try await _ in stream().stream {} }
      ),
      ("representationChanged", { _ = try resumed(HTTPResponse(to: anyRequest(), status: .ok)) }),
      ("resumedAtOtherOrigin", { _ = try resumed(HTTPResponse(to: HTTPRequest("http://example.org/"), status: .ok)) }),
      ("unacceptableStatus", { _ = try resumed(HTTPResponse(to: anyRequest(), status: .notFound)) }),
      ("invalidResponse", { _ = try resumed(HTTPResponse(to: anyRequest(), status: HTTPStatus(206))) }),
      (
        "invalidResponse",
        {
          var state = resumable
          _ = try state.received(Data(count: 11))
        }
      ),
      ("unwritableBody", { _ = try partialFile(in: try #require(URL(string: "http://a/"))) }),
      ("unwritableBody", { _ = try partialFile(in: URL(filePath: "/dev/null")) }),
      ("unwritableBody", { _ = try partialFile(in: URL(filePath: "/dev/null/a")) }),
      ("truncatedBody", { throw resumable.truncation }),
      ("lineTooLong", { for try await _ in response("ab\n").lines(limit: 1) {} }),
      ("undecodableBody", { try Self.split(Data([0xFF, 0x0A])) }),
      ("undecodableBody", { for try await _ in response("1\n{}\n").jsonLines(of: Int.self) {} }),
      (
        "eventTooLarge",
        {
          var parser = ServerSentEventParser(maximumEventSize: 10)
          parser.receive(Data("data: 12345\n".utf8))
          _ = try parser.next()
        }
      ),
      ("unacceptableContentType", { for try await _ in response("").events {} }),
      (
        "eventsAtOtherOrigin",
        {
          let script = ScriptedStreams(.events(""), .events("", at: "http://example.org/"))
          for try await _ in script.feed() {}
        }
      ),
      (
        "bodyAlreadyRead",
        {
          let events = ScriptedStreams(.head(.noContent)).feed()
          for try await _ in events {}
          for try await _ in events {}
        }
      ),
    ]
  }

  private func stream(_ clock: any FutureClock = .system) -> (stream: HTTPBodyStream, writer: HTTPBodyWriter) {
    HTTPBodyStream.makeStream(for: anyRequest(), clock: clock)
  }

  private func response(_ body: String) -> HTTPResponse {
    HTTPResponse(to: anyRequest(), status: .ok, body: Data(body.utf8))
  }

  private static func split(_ bytes: Data) throws {
    var splitter = LineSplitter(limit: 1)
    splitter.receive(bytes)
    while try splitter.next() != nil {}
  }
}
