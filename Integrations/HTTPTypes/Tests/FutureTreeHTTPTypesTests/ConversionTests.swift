import Foundation
import FutureTreeHTTP
import FutureTreeHTTPTypes
import HTTPTypes
import Testing

private typealias TreeRequest = FutureTreeHTTP.HTTPRequest
private typealias TreeResponse = FutureTreeHTTP.HTTPResponse
private typealias SharedRequest = HTTPTypes.HTTPRequest
private typealias SharedResponse = HTTPTypes.HTTPResponse

@Suite("Messages of swift-http-types") struct ConversionTests {
  /// A request as text: its parts, and its fields with a mark for secrets.
  private func text(_ request: SharedRequest) -> String {
    let fields = request.headerFields.map {
      "\($0.name.rawName): \($0.value)" + ($0.indexingStrategy == .disallow ? " (secret)" : "")
    }
    let parts = [request.method.rawValue, request.scheme ?? "-", request.authority ?? "-", request.path ?? "-"]
    return (parts + fields).joined(separator: " | ")
  }

  private func head(
    _ method: SharedRequest.Method = .get, scheme: String? = "https", authority: String? = "example.com",
    path: String? = "/a", fields: HTTPFields = [:]
  ) -> SharedRequest {
    SharedRequest(method: method, scheme: scheme, authority: authority, path: path, headerFields: fields)
  }

  private let host = HTTPField.Name("Host")!

  // MARK: - Requests

  @Test("A request crosses with its target, its fields, its secrets and the type of its body")
  func request() throws {
    var request = try TreeRequest(.post, "https://example.com:8443/a%20b/?c=d&e")
    try request.addHeader("X-One", "1")
    try request.addHeader("x-one", "2")
    try request.setHeader("Authorization", "Bearer a")
    try request.setHeader("X-Session", "b")
    request.sensitiveHeaders.insert("x-session")
    request.body = .data(Data("{}".utf8), contentType: "application/json")
    request.expectsContinue = true

    #expect(
      text(try SharedRequest(request)) == "POST | https | example.com:8443 | /a%20b/?c=d&e | X-One: 1 | x-one: 2 | "
        + "Authorization: Bearer a (secret) | X-Session: b (secret) | Content-Type: application/json | Expect: 100-continue"
    )
    try request.setHeader("Content-Type", "text/plain")
    #expect(try SharedRequest(request).headerFields[values: .contentType] == ["text/plain"])
    #expect(text(try SharedRequest(TreeRequest(.get, path: "users?a=b"))) == "GET | - | - | users?a=b")
  }

  @Test("A request arrives with its secrets and expectation, without fields that the transport sets")
  func arriving() throws {
    var fields: HTTPFields = [
      host: "Example.com", .contentLength: "2", .transferEncoding: "chunked", .connection: "X-Hop, close",
      .expect: "100-Continue", .contentType: "text/plain", .te: "trailers", .accept: "a",
    ]
    fields[HTTPField.Name("X-Hop")!] = "1"
    fields.append(HTTPField(name: .accept, value: "b"))
    var secret = HTTPField(name: HTTPField.Name("X-Key")!, value: "k")
    secret.indexingStrategy = .disallow
    fields.append(secret)

    let request = try TreeRequest(
      head(.put, path: nil, fields: fields), body: .data(Data("ok".utf8), contentType: "a/b"))

    #expect(request.method == .put && request.url?.absoluteString == "https://example.com/")
    let names = request.headers.map { "\($0.name): \($0.value)" }
    #expect(names == ["Content-Type: text/plain", "Accept: a", "Accept: b", "X-Key: k"])
    #expect(request.sensitiveHeaders.sorted == ["x-key"] && request.expectsContinue)
    #expect(request.body.contentLength == 2)
    var cookies = HTTPFields()
    for pair in ["a=b", "c=d"] { cookies.append(HTTPField(name: .cookie, value: pair)) }
    #expect(try TreeRequest(head(fields: cookies)).headers.values(for: "Cookie") == ["a=b; c=d"])
    #expect(try TreeRequest(head(path: "?a")).url?.absoluteString == "https://example.com/?a")
    #expect(try TreeRequest(head(path: "")).url?.absoluteString == "https://example.com/")
    #expect(try TreeRequest(head(scheme: nil, authority: nil, path: "b?c")).path == "b")
  }

  @Test("A request that FutureTree cannot send is an error")
  func refused() {
    let refused: [(SharedRequest, HTTPError.Code)] = [
      (head(.connect, path: nil), .invalidURL), (head(scheme: nil), .invalidURL), (head(scheme: "ftp"), .invalidURL),
      (head(authority: "user@example.com"), .invalidURL), (head(.options, path: "*"), .invalidURL),
      (head(authority: ""), .invalidURL), (head(path: "/a b"), .invalidURL),
      (head(fields: [host: "other.com"]), .forbiddenHeader),
      (head(fields: [.expect: "200-maybe"]), .forbiddenHeader), (head(fields: [.accept: "é"]), .invalidHeaderValue),
      (head(authority: nil, path: "/a", fields: [host: "example.com"]), .forbiddenHeader),
      (head(path: ".evil.com/x"), .invalidURL), (head(path: ":8080/x"), .invalidURL),
      (head(path: "@evil.com"), .invalidURL),
      (head(scheme: "https://evil.com/?"), .invalidURL), (head(authority: "evil.com/x?"), .invalidURL),
      (head(authority: "evil.com#"), .invalidURL), (head(authority: "evil.com\\"), .invalidURL),
      (head(path: "/a#b"), .invalidURL),
    ]
    for (head, code) in refused {
      let error = #expect(throws: HTTPError.self, "\(head)") { try TreeRequest(head) }
      #expect(error?.code == code, "\(head)")
    }
  }

  // MARK: - Responses

  @Test("A response crosses in both directions, and is checked as if it came from a server")
  func response() throws {
    let request = try TreeRequest("https://example.com/")
    var fields: HTTPFields = [.contentLength: "2", .setCookie: "a=b", .server: "é"]
    fields.append(HTTPField(name: .setCookie, value: "c=d"))

    let response = try TreeResponse(
      SharedResponse(status: .init(code: 299, reasonPhrase: "Fine"), headerFields: fields), to: request,
      body: Data("ok".utf8), trailers: [HTTPField.Name("X-Sum")!: "1"])

    #expect(response.status.code == 299 && response.headers["Server"] == "é" && response.trailers["x-sum"] == "1")
    #expect(try response.body == Data("ok".utf8))
    let back = try SharedResponse(response)
    #expect(back.status.code == 299 && back.headerFields.map(\.value) == fields.map(\.value))
    #expect(back.headerFields[fields: .setCookie].allSatisfy { $0.indexingStrategy == .disallow })
    #expect(try HTTPFields(response.trailers)[HTTPField.Name("X-Sum")!] == "1")
    let other = TreeResponse(to: request, status: HTTPStatus(1_000))
    #expect(throws: HTTPError.self) { try SharedResponse(other) }
    let many = HTTPHeaders(Array(repeating: try HTTPHeaders.Field("a", ""), count: 60_001))
    #expect(throws: HTTPError.self) { try SharedResponse(TreeResponse(to: request, status: .ok, headers: many)) }

    let head = SharedResponse(status: .ok, headerFields: [.contentLength: "3"])
    for (body, code) in [("ok", HTTPError.Code.truncatedBody), ("okok", .ambiguousBody)] {
      let error = #expect(throws: HTTPError.self) { try TreeResponse(head, to: request, body: Data(body.utf8)) }
      #expect(error?.code == code)
    }
    let early = #expect(throws: HTTPError.self) { try TreeResponse(SharedResponse(status: .earlyHints), to: request) }
    #expect(early?.code == .invalidResponse)
  }

  // MARK: - Random messages

  @Test("Random requests are the same after a journey, in both directions", arguments: 1...200)
  func journeys(seed: Int) throws {
    var random = Steps(state: UInt64(seed))
    let names = ["Accept", "x-b", "X-C", "Authorization", "Cookie", "a~b!"]
    let values = ["", "a", "a, b", "\"q\"", "x=1; y=2", "~`|{}"]
    let paths = ["/", "/a/b", "/%20", "/a?b=c", "/?", "/a//b;c"]
    for _ in 0..<20 {
      let port = random.below(2) == 0 ? "" : ":\(1 + random.below(65_535))"
      let url =
        "\(["http", "https"][random.below(2)])://\(["a", "b.example", "[::1]", "127.0.0.1"][random.below(4)])\(port)"
      let method = try HTTPMethod(["GET", "POST", "purge", "M-SEARCH"][random.below(4)])
      var request = try TreeRequest(method, url + paths[random.below(paths.count)])
      for _ in 0..<random.below(5) { try request.addHeader(names[random.below(6)], values[random.below(6)]) }
      request.removeHeader("Cookie")
      if random.below(2) == 0 { try request.setHeader("Cookie", "a=b; c=d") }
      request.expectsContinue = random.below(2) == 0
      if random.below(2) == 0 { request.sensitiveHeaders.insert("x-b") }

      let crossed = try SharedRequest(request)
      let back = try TreeRequest(crossed)

      #expect(back.method == request.method && back.url == request.url && back.headers == request.headers)
      #expect(back.expectsContinue == request.expectsContinue)
      #expect(request.headers.allSatisfy { back.isSensitive(header: $0.name) == request.isSensitive(header: $0.name) })
      #expect(try SharedRequest(back) == crossed)
    }
  }
}

/// Numbers that are the same for each run.
private struct Steps {
  var state: UInt64

  mutating func below(_ limit: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(state >> 33) % limit
  }
}
