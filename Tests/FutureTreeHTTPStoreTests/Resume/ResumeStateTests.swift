import Foundation
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

@Suite("Resume: rules") struct ResumeStateTests {
  private static let tag = "\"v1\""

  private static func response(
    _ status: Int, _ fields: [(String, String)], at url: String = "http://example.com/film"
  ) -> HTTPResponse {
    HTTPResponse(to: try! HTTPRequest(url), status: HTTPStatus(status), headers: received(fields), body: Data())
  }

  /// The state after 4 of 10 bytes.
  private static func state(length: String? = "10") throws -> ResumeState {
    var fields = [("ETag", tag)]
    if let length { fields.append(("Content-Length", length)) }
    var state = ResumeState(response(200, fields))
    _ = try state.received(Data(count: 4))
    return state
  }

  @Test(
    "A body can be resumed if the first response has the status 200, a strong validator, and no encoding",
    arguments: [
      (200, [("ETag", tag)], true), (200, [("ETag", "\"\"")], true),
      (200, [("ETag", tag), ("Accept-Ranges", "bytes")], true), (200, [], false), (200, [("ETag", "W/\"v1\"")], false),
      (200, [("ETag", "v1")], false), (200, [("ETag", "\"")], false), (200, [("ETag", "\"a\"b\"")], false),
      (200, [("ETag", tag), ("ETag", tag)], false), (200, [("ETag", tag), ("Content-Encoding", "gzip")], false),
      (200, [("ETag", tag), ("Accept-Ranges", "none")], false),
      (200, [("ETag", tag), ("Accept-Ranges", "bytes, None")], false),
      (200, [("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")], false), (206, [("ETag", tag)], false),
      (201, [("ETag", tag)], false),
    ] as [(Int, [(String, String)], Bool)])
  func canResume(status: Int, fields: [(String, String)], expected: Bool) {
    expectEqual((ResumeState(Self.response(status, fields)).validator != nil), expected)
  }

  @Test("The request for the rest has the range and the validator, and all fields of the first")
  func request() throws {
    var base = anyRequest("/film")
    try base.setHeader("Accept", "video/mp4")
    let request = try Self.state().request(from: base)

    expectEqual(request.headers["Range"], "bytes=4-")
    expectEqual(request.headers["If-Range"], Self.tag)
    expectEqual(request.headers["Accept"], "video/mp4")
  }

  @Test("A validator beyond ASCII is sent back with the same bytes, and compared by its bytes")
  func validatorBeyondASCII() throws {
    let state = ResumeState(Self.response(200, [("ETag", "\"é\"")]))
    var (same, other) = (state, state)

    try expectEqual(state.request(from: anyRequest()).headers["If-Range"], "\"é\"")
    #expect(try same.accepts(Self.response(200, [("ETag", "\"é\"")])))
    #expect(throws: HTTPError.self) { try other.accepts(Self.response(200, [("ETag", "\"e\u{301}\"")])) }
  }

  @Test(
    "The response to it is accepted or refused",
    arguments: [
      (206, [("Content-Range", "bytes 4-9/10")], "representationChanged"),
      (206, [("Content-Range", "bytes 4-9/10"), ("ETag", tag)], "part"),
      (206, [("Content-Range", "bytes 4-6/10"), ("ETag", tag)], "part"),
      (206, [("Content-Range", "bytes 4-9/10"), ("ETag", "\"v2\"")], "representationChanged"),
      (206, [("Content-Range", "bytes 4-9/10"), ("ETag", "W/\"v1\"")], "representationChanged"),
      (206, [("Content-Range", "bytes 4-10/11"), ("ETag", tag)], "representationChanged"),
      (206, [("Content-Range", "bytes 3-9/10")], "invalidResponse"),
      (206, [("Content-Range", "bytes 5-9/10")], "invalidResponse"),
      (206, [("Content-Range", "bytes 4-9/*")], "invalidResponse"),
      (206, [("Content-Range", "bytes */10")], "invalidResponse"),
      (206, [("Content-Range", "bytes 4-9/10"), ("Content-Range", "bytes 4-9/10")], "invalidResponse"),
      (206, [("Content-Range", "bytes 4-9/10"), ("Content-Encoding", "gzip")], "invalidResponse"),
      (206, [("Content-Type", "multipart/byteranges; boundary=a")], "invalidResponse"),
      (200, [("ETag", tag), ("Content-Length", "10")], "part"), (200, [("ETag", tag)], "part"),
      (200, [("ETag", "\"v2\""), ("Content-Length", "10")], "representationChanged"),
      (200, [("ETag", tag), ("Content-Length", "11")], "representationChanged"),
      (200, [("ETag", tag), ("Content-Encoding", "gzip")], "representationChanged"),
      (200, [("Content-Length", "10")], "representationChanged"),
      (416, [("Content-Range", "bytes */4")], "representationChanged"), (416, [], "representationChanged"),
      (404, [], "unacceptableStatus"), (412, [], "unacceptableStatus"), (204, [], "unacceptableStatus"),
      (304, [("ETag", tag)], "unacceptableStatus"),
    ] as [(Int, [(String, String)], String)])
  func accepts(status: Int, fields: [(String, String)], expected: String) throws {
    var state = try Self.state()
    let response = Self.response(status, fields)
    let result = Result { () throws(HTTPError) in try state.accepts(response) ? "part" : "whole" }

    expectEqual((try? result.get()) ?? result.code, expected)
    if case .failure(let error) = result { expectEqual(error.response?.status, response.status) }
  }

  @Test("A body that the platform has decoded cannot be resumed and is no rest, because its bytes count differently")
  func decoded() throws {
    func decoded(_ status: Int, _ fields: [(String, String)]) -> HTTPResponse {
      let shown = Self.response(status, [("ETag", Self.tag)] + fields)
      return HTTPResponse(
        to: shown.request, status: shown.status, headers: shown.headers, content: shown.content, marks: .isDecoded)
    }
    var state = try Self.state()

    #expect(ResumeState(decoded(200, [])).validator == nil)
    for response in [decoded(200, []), decoded(206, [("Content-Range", "bytes 4-9/10")])] {
      #expect(throws: HTTPError.self) { try state.accepts(response) }
    }
  }

  @Test("A rest of a body over the limit is refused")
  func tooLarge() throws {
    var state = try Self.state(length: nil)
    let response = Self.response(206, [("Content-Range", "bytes 4-9/10"), ("ETag", Self.tag)])

    let error = #expect(throws: HTTPError.self) { try state.accepts(response, maximumSize: 9) }
    expectEqual(error?.code, .bodyTooLarge)
    #expect(try state.accepts(response, maximumSize: 10))
  }

  @Test("A response from another origin is refused, whatever it is", arguments: [200, 206, 416, 404])
  func otherOrigin(status: Int) throws {
    var state = try Self.state()
    let fields = [("ETag", Self.tag), ("Content-Range", status == 416 ? "bytes */4" : "bytes 4-9/10")]
    let error = #expect(throws: HTTPError.self) {
      try state.accepts(Self.response(status, fields, at: "http://other.example.com/film"))
    }

    expectEqual(error?.code, .resumedAtOtherOrigin)
  }

  @Test("A body of unknown length is whole if the server says that there is nothing after it")
  func wholeWithoutEnd() throws {
    var state = try Self.state(length: nil)
    #expect(!state.isWhole(after: false))
    #expect(try !state.accepts(Self.response(416, [("Content-Range", "bytes */4")])))
    #expect(state.isWhole(after: false))

    var changed = try Self.state(length: nil)
    let error = #expect(throws: HTTPError.self) {
      try changed.accepts(Self.response(416, [("Content-Range", "bytes */3")]))
    }
    expectEqual(error?.code, .representationChanged)
  }

  @Test("The bytes that a server sends again are skipped, in chunks of any size", arguments: 1...11)
  func skipped(size: Int) throws {
    var state = try Self.state()
    _ = try state.accepts(Self.response(200, [("ETag", Self.tag), ("Content-Length", "10")]))
    let body = Data("0123456789".utf8)
    var rest = Data()
    for start in stride(from: 0, to: body.count, by: size) {
      rest += try state.received(body[start..<min(start + size, body.count)])
    }

    expectEqual(rest, Data("456789".utf8))
    #expect(state.isWhole(after: true))
  }

  @Test("Bytes after the range of a response are refused, and are not passed on")
  func tooLong() throws {
    var state = try Self.state()
    _ = try state.accepts(Self.response(206, [("Content-Range", "bytes 4-6/10"), ("ETag", Self.tag)]))
    _ = try state.received(Data(count: 3))

    let error = #expect(throws: HTTPError.self) { try state.received(Data(count: 1)) }
    expectEqual(error?.code, .invalidResponse)
    expectEqual(state.position, 7)
    #expect(!state.isWhole(after: true))
  }

  @Test("Each byte that continues the body starts the count of attempts again, and a repeated byte does not")
  func attempts() throws {
    var state = try Self.state()
    state.attemptFailed()
    state.attemptFailed()
    expectEqual(state.attempt, 3)
    _ = try state.accepts(Self.response(200, [("ETag", Self.tag), ("Content-Length", "10")]))
    _ = try state.received(Data(count: 4))
    expectEqual(state.attempt, 3)
    _ = try state.received(Data(count: 1))
    expectEqual(state.attempt, 1)
  }
}

extension Result where Failure == HTTPError {
  fileprivate var code: String {
    if case .failure(let error) = self { error.code.description } else { "success" }
  }
}
