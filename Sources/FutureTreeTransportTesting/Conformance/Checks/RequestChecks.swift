import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting

extension TransportConformance.Check {
  static let requests: [Self] = [
    target, encodedDelimiters, encodedBytes, methods, methodCase, fieldValues, headerOrder, addedFields, bodies,
    asyncBodies, requestTrailers, wrongLength, unreadableBody, pulledUpload, redirects, cookies, challenges,
    cacheableResponses,
  ]

  /// Targets with a query, with percent-encoding, with an empty segment, and without a path.
  public static let target = Self(
    "target", .asSent, "A request is sent to its target, as written, with the host and port of its URL"
  ) { run in
    for path in ["/a/b?q=a%20b&q=%2f", "/%7Euser/%C3%A4", "/a//b;c=1", "/?"] { try await run.expectTarget(path) }
    run.server.on("/", .respond())
    _ = try await run.loader.load(try HTTPRequest("http://127.0.0.1:\(run.server.port)")).value
    run.expect(run.server.requests.last?.target == "/", "an empty path was not sent as /")
    for request in run.server.requests {
      let host = request.values(for: "host")
      run.expect(host == ["127.0.0.1:\(run.server.port)"], "the field Host is \(host)")
    }
  }

  /// Percent-encoded delimiters.
  public static let encodedDelimiters = Self(
    "encodedDelimiters", .asSent, "The percent-encoded delimiters of a path are sent as written"
  ) { run in
    try await run.expectTarget("/%2Fa%3f%25%23")
  }

  /// Percent-encoded bytes that are not UTF-8.
  public static let encodedBytes = Self(
    "encodedBytes", .asSent, "The percent-encoded bytes of a path are sent as written"
  ) { run in
    try await run.expectTarget("/%7Euser/%e4")
  }

  /// Methods of the standard, and a method that it does not define.
  public static let methods = Self("methods", .asSent, "A method is sent as it is") { run in
    try await run.expectMethods(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"])
  }

  /// Names of known and unknown methods in lower case.
  public static let methodCase = Self("methodCase", .asSent, "The case of a method is not changed") { run in
    try await run.expectMethods(["purge", "post", "Get"])
  }

  /// Values with commas, quotes, inner blanks and characters beyond letters, and an empty value.
  public static let fieldValues = Self("fieldValues", .asSent, "The values of header fields are sent as written") {
    run in
    run.server.on("/", .respond())
    let fields = [
      ("X-A", "a, b"), ("X-B", "\"q\\\"uoted\""), ("X-C", "a  b\tc"), ("X-D", "{}[]()<>@,;:/?="), ("X-E", ""),
    ]
    _ = try await run.load { request in
      for (name, value) in fields { try request.addHeader(name, value) }
    }.value

    for (name, value) in fields {
      let sent = run.server.requests.first?.values(for: name)
      run.expect(sent == [value], "\(name) was sent as \(sent ?? [])")
    }
  }

  /// Fields in an order that is not alphabetical, of which three have one name in different cases.
  public static let headerOrder = Self(
    "headerOrder", .asSent, "Header fields are sent in their order, with their names as written, and not joined"
  ) { run in
    run.server.on("/", .respond())
    let fields = [("X-B", "1"), ("x-a", "2"), ("X-B", "3"), ("X-b", "4"), ("X-A", "5")]
    _ = try await run.load { request in
      for (name, value) in fields { try request.addHeader(name, value) }
    }.value

    let sent = run.server.requests.first?.headers.filter { $0.name.lowercased().hasPrefix("x-") } ?? []
    run.expect(
      sent.map { "\($0.name): \($0.value)" } == fields.map { "\($0): \($1)" },
      "sent: " + sent.map { "\($0.name): \($0.value)" }.joined(separator: "; "))
  }

  /// A `GET` and a `PUT` with a body.
  public static let addedFields = Self(
    "addedFields", .asSent, "A transport adds no header fields, except those that it is documented to add"
  ) { run in
    run.server.onOthers(.respond())
    _ = try await run.load().value
    _ = try await run.loader.load(try run.request("/", .put, body: .data(Data("body".utf8)))).value

    let framing: Set = ["content-length", "content-type", "transfer-encoding"]
    for request in run.server.requests {
      let allowed = run.addedFields.union(["host", "connection"]).union(request.method == "PUT" ? framing : [])
      let added = request.headers.map(\.name).filter { !allowed.contains($0.lowercased()) }
      run.expect(added.isEmpty, "a \(request.method) request has the fields \(added.joined(separator: ", "))")
    }
  }

  /// No redirect is followed, also for a method with a body.
  public static let redirects = Self("redirects", .origin, "A redirect is the response, and is not followed") { run in
    for status in [300, 301, 302, 303, 305, 307, 308] {
      let location = [("Location", run.server.url("/to"))]
      run.server.on("/\(status)", .respond(status: status, headers: location, body: "moved"))
      for method in [HTTPMethod.get, .post] {
        let body = method == .post ? HTTPBody.data(Data("body".utf8)) : .empty
        let load = run.loader.load(try run.request("/\(status)", method, body: body))
        let response = await run.expectBody("moved", of: load, "a redirect with \(status)")
        run.expect(response?.status.code == status, "the status is \(response?.status.description ?? "missing")")
        run.expect(response?.headers["Location"] == location[0].1, "the Location of \(status) is missing")
      }
    }
    run.expect(run.server.record.requests(to: "/to").isEmpty, "the transport followed a redirect")
    run.expect(run.server.requestCount == 14, "the server received \(run.server.requestCount) of 14 requests")
  }

  /// Two requests to a server that sets a cookie.
  public static let cookies = Self("cookies", .origin, "Cookies are neither stored nor sent") { run in
    run.server.on("/", .respond(headers: [("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2")], body: "body"))
    for _ in 0..<2 {
      let response = await run.expectBody("body", of: try run.load(), "a response with cookies")
      let cookies = response?.headers.values(for: "Set-Cookie") ?? []
      run.expect(cookies == ["a=1; Path=/", "b=2"], "the cookies of the response are \(cookies.count) fields")
    }
    let sent = run.server.requests.flatMap { $0.values(for: "cookie") }
    run.expect(sent.isEmpty, "the transport sent \(sent.count) cookies")
  }

  /// Responses with 401 that ask for credentials of three schemes.
  public static let challenges = Self(
    "challenges", .origin, "A response that asks for credentials is delivered, and no credentials are sent"
  ) { run in
    for (index, challenge) in ["Basic realm=\"x\"", "Bearer", "Digest realm=\"x\", nonce=\"n\""].enumerated() {
      run.server.on("/\(index)", .respond(status: 401, headers: [("WWW-Authenticate", challenge)], body: "denied"))
      let response = await run.expectBody("denied", of: try run.load("/\(index)"), "a 401 with \(challenge)")
      run.expect(response?.headers["WWW-Authenticate"] == challenge, "the challenge \(challenge) is missing")
    }
    run.expect(run.server.requestCount == 3, "the server received \(run.server.requestCount) requests")
    let sent = run.server.requests.flatMap { $0.values(for: "authorization") }
    run.expect(sent.isEmpty, "the transport sent credentials")
  }

  /// Two requests for a response with `max-age` and `ETag`.
  public static let cacheableResponses = Self(
    "cacheableResponses", .asSent, "A cacheable response is requested each time, without a condition"
  ) { run in
    run.server.on("/", .respond(headers: [("Cache-Control", "max-age=600"), ("ETag", "\"1\"")], body: "body"))
    for _ in 0..<2 { await run.expectBody("body", of: try run.load(), "a cacheable response") }

    run.expect(run.server.requestCount == 2, "the server received \(run.server.requestCount) requests")
    let conditions = run.server.requests.flatMap { $0.values(for: "if-none-match") }
    run.expect(conditions.isEmpty, "the transport sent a condition")
  }
}

extension CheckRun {
  fileprivate func expectMethods(_ names: [String]) async throws {
    server.onOthers(.respond())
    for name in names {
      _ = try await loader.load(try request("/", try HTTPMethod(name))).value
      let sent = server.requests.last?.method ?? ""
      expect(sent == name, "\(name) was sent as \(sent)")
    }
  }
}

extension CheckRun {
  /// Loads a path, and expects that it is sent as written.
  fileprivate func expectTarget(_ path: String) async throws {
    server.on(path, .respond())
    _ = try await load(path).value
    let sent = server.requests.last?.target ?? ""
    expect(sent == path, "\(path) was sent as \(sent)")
  }
}
