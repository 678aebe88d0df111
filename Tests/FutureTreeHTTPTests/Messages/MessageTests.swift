import Foundation
import FutureTreeHTTP
import TestSupport
import Testing

@Suite("Messages") struct MessageTests {
  @Test("Header fields keep their order and spelling, and are compared without case")
  func headers() throws {
    var headers = HTTPHeaders()
    try headers.add("Accept", "text/html")
    try headers.add("X-Trace", "1")
    try headers.add("ACCEPT", "text/plain")

    expectEqual(headers["accept"], "text/html")
    expectEqual(headers.values(for: "aCcept"), ["text/html", "text/plain"])
    expectEqual(headers.map(\.name), ["Accept", "X-Trace", "ACCEPT"])
    #expect(headers["missing"] == nil)
  }

  @Test("Setting a field replaces all fields of its name at the first position")
  func setHeader() throws {
    var headers = HTTPHeaders()
    for (name, value) in [("A", "1"), ("B", "2"), ("a", "3")] { try headers.add(name, value) }

    try headers.set("a", "4")
    headers.remove("b")

    expectEqual(headers.map { "\($0.name)=\($0.value)" }, ["a=4"])
  }

  @Test("A refused field leaves the headers unchanged")
  func refusedField() throws {
    var headers = HTTPHeaders()
    try headers.add("A", "1")

    #expect(throws: HTTPError.self) { try headers.set("A", "\r\n") }

    expectEqual(headers["A"], "1")
  }

  private enum Priority: HTTPRequestOption {
    static var defaultValue: Int { 3 }
  }

  @Test("An option has its default until a request sets it, and is copied with the request")
  func options() throws {
    let plain = try HTTPRequest("http://example.com/")
    var urgent = plain
    urgent[option: Priority.self] = 9

    expectEqual(plain[option: Priority.self], 3)
    expectEqual(urgent[option: Priority.self], 9)
  }

  @Test("Changing a copy does not change the original request")
  func copies() throws {
    let changes: [(inout HTTPRequest) throws -> Void] = [
      { $0.method = .put }, { $0.target = .path(try HTTPPath("/b")) }, { $0.body = .data(Data("b".utf8)) },
      { try $0.setHeader("A", "2") }, { try $0.addHeader("A", "2") }, { $0.removeHeader("A") },
      { $0[option: Priority.self] = 2 },
    ]
    func parts(_ request: HTTPRequest) -> [String] {
      let values = request.headers.values(for: "A").description
      return ["\(request.method)", request.path, "\(request.body)", values, "\(request[option: Priority.self])"]
    }
    var original = try HTTPRequest(.post, "http://example.com/a")
    try original.setHeader("A", "1")
    original[option: Priority.self] = 1
    let before = parts(original)

    for change in changes {
      var copy = original
      try change(&copy)
      expectEqual(parts(original), before)
      #expect(parts(copy) != before)
    }
  }

  @Test("A body has a type and a length, and empty data is a body")
  func bodies() {
    let body = HTTPBody.data(Data("abc".utf8), contentType: "text/plain")

    expectEqual(body.contentLength, 3)
    expectEqual(body.contentType, "text/plain")
    #expect(body.isReplayable)
    #expect(!HTTPBody.data(Data()).isEmpty)
    #expect(HTTPBody.empty.isEmpty)
    expectEqual(HTTPBody.data(Data()).contentType, "application/octet-stream")
  }

  @Test("A status reports success and the absence of a body")
  func statuses() {
    #expect(HTTPStatus.created.isSuccess)
    #expect(!HTTPStatus.notFound.isSuccess)
    #expect([100, 204, 304].allSatisfy { HTTPStatus($0).hasNoBody })
    #expect(!HTTPStatus.ok.hasNoBody)
  }
}
