import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeHTTPTesting

extension TransportConformance.Check {
  static let heads: [Self] = [
    informational, cutStatusLine, cutFields, resetHead, statusLines, fieldNames, nulBytes, foldedFields, largeHead,
    fieldCase, cookieFields, textFields, latinFields, returnedFields,
  ]

  /// Responses with 100 and 103, one and several, before the final response.
  public static let informational = Self(
    "informational", .wholeBodies, "Informational heads are skipped, and the final response arrives"
  ) { run in
    let heads = ["100 Continue", "103 Early Hints"].map { "HTTP/1.1 \($0)\r\nLink: </a>\r\n\r\n" }
    for (index, first) in (heads + [heads.joined()]).enumerated() {
      run.server.on("/\(index)", [.send(first), .respond(status: 201, headers: [("X-A", "1")], body: "body")])
      let response = await run.expectBody("body", of: try run.load("/\(index)"), "after \(first.debugDescription)")
      run.expect(response?.status == .created, "the status is \(response?.status.description ?? "missing")")
      run.expect(
        response?.headers["X-A"] == "1" && response?.headers["Link"] == nil, "the fields of two heads are mixed")
    }
  }

  /// The server closes the connection at each byte of the status line.
  public static let cutStatusLine = Self(
    "cutStatusLine", .wholeBodies, "A response that is cut in its status line is an error"
  ) { run in
    for count in 0..<Head.statusLineSize {
      run.answer("/\(count)", Head.plain.text(cutAt: count))
      await run.expectFailure(of: try run.load("/\(count)"), name: "cut after \(count) bytes")
    }
  }

  /// The server closes the connection at each byte of the header fields.
  public static let cutFields = Self(
    "cutFields", .wholeBodies, "A response that is cut in its header fields is an error"
  ) { run in
    for count in Head.statusLineSize..<Head.plain.headSize {
      run.answer("/\(count)", Head.plain.text(cutAt: count))
      await run.expectFailure(of: try run.load("/\(count)"), name: "cut after \(count) bytes")
    }
  }

  /// The server resets the connection at each byte of a head.
  public static let resetHead = Self("resetHead", .wholeBodies, "A response that is reset in its head is an error") {
    run in
    for count in 0..<Head.plain.headSize {
      run.answer("/\(count)", Head.plain.text(cutAt: count), .reset)
      await run.expectFailure(of: try run.load("/\(count)"), name: "reset after \(count) bytes")
    }
  }

  /// Status lines with another protocol, without a version, and with codes of other lengths.
  public static let statusLines = Self("statusLines", .wholeBodies, "An invalid status line is an error") { run in
    let lines = [
      "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 abc OK", "HTTP/1.1", "HTP/1.1 200 OK", "200 OK", "\u{1}garbage",
    ]
    for (index, line) in lines.enumerated() {
      run.answer("/\(index)", "\(line)\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
      await run.expectFailure(of: try run.load("/\(index)"), name: line.debugDescription)
    }
  }

  /// Lines without a colon, with a space before it, and with names that are not tokens.
  public static let fieldNames = Self(
    "fieldNames", .wholeBodies, "A malformed header field is an error, or is not delivered"
  ) { run in
    for (index, line) in ["X-A : a", ": a", "X-A", "X A: a", "X(A): a", "X-é: a"].enumerated() {
      await run.expectHarmless(line, at: "/\(index)") { response in
        // A client may remove the space before the colon (RFC 9112, section 5.1).
        response.headers.allSatisfy {
          ["connection", "content-length", "x-b"].contains($0.name.lowercased())
            || line == "X-A : a" && ($0.name, $0.value) == ("X-A", "a")
        }
      }
    }
  }

  /// A NUL in the value and in the name of a field.
  public static let nulBytes = Self(
    "nulBytes", .wholeBodies, "A NUL in a header field is an error, or is not delivered"
  ) {
    run in
    for (index, line) in ["X-A: a\0b", "X-\0A: a", "X-A: a\0"].enumerated() {
      await run.expectHarmless(line, at: "/\(index)") { response in
        // A client may replace a NUL with a space (RFC 9110, section 5.5), which the end of a value does not keep.
        response.headers.allSatisfy {
          !$0.name.contains("\0") && !$0.value.contains("\0") && ($0.value != "a" || line.hasSuffix("\0"))
        }
      }
    }
  }

  /// A field that continues on the next line, which looks like another field.
  public static let foldedFields = Self(
    "foldedFields", .wholeBodies, "A folded line is an error, or a part of its field, and never a field of its own"
  ) { run in
    for (index, line) in ["X-A: a\r\n Content-Length: 1", "X-A: a\r\n\tX-C: c"].enumerated() {
      await run.expectHarmless(line, at: "/\(index)") { response in
        response.headers.values(for: "Content-Length") == ["2"] && response.headers["X-C"] == nil
      }
    }
  }

  /// Two fields whose names differ in case.
  public static let fieldCase = Self(
    "fieldCase", .tolerantReading, "Fields whose names differ in case are one field, of which no value is lost"
  ) { run in
    let names = ["Cache-Control", "Vary", "Set-Cookie", "Link"]
    run.server.on("/", .respond(headers: names.flatMap { [($0, "a=1"), ($0.lowercased(), "b=2")] }))
    let headers = try await run.load().value.headers
    for name in names {
      run.expect(headers.elements(of: name).sorted() == ["a=1", "b=2"], "one of two fields was lost: \(name)")
    }
  }

  /// Cookies with blanks at their end, with dates, and with an empty field between them.
  public static let cookieFields = Self(
    "cookieFields", .tolerantReading, "Each `Set-Cookie` is delivered, without the blanks around it"
  ) { run in
    let cookies = ["a=1 ", "b=2\t", "c=3; Expires=Wed, 21 Oct 2026 07:28:00 GMT ", "", "d=4; Path=/"]
    let fields = cookies.map { "Set-Cookie: \($0)\r\n" }.joined()
    run.answer("/", "\(Framing.closing)\(fields)Content-Length: 0\r\n\r\n")
    let values = try await run.load().value.headers.values(for: "Set-Cookie").filter { !$0.isEmpty }
    run.expect(
      values == ["a=1", "b=2", "c=3; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "d=4; Path=/"],
      "\(values.count) of 4 cookies were delivered, or changed")
  }

  /// Values in UTF-8.
  public static let textFields = Self("textFields", .tolerantReading, "A value in UTF-8 is delivered as its text") {
    run in
    let fields = ["X-A: café", "Content-Disposition: attachment; filename=\"€.txt\"", "ETag: \"ü\""]
    run.answer("/", "\(Framing.closing)\(fields.joined(separator: "\r\n"))\r\nContent-Length: 0\r\n\r\n")
    let headers = try await run.load().value.headers
    for field in fields {
      let (name, value) = (field.prefix { $0 != ":" }, field.drop { $0 != ":" }.dropFirst(2))
      run.expect(headers.values(for: String(name)) == [String(value)], "\(name) is missing, or has another value")
    }
  }

  /// A value with a byte that is not UTF-8.
  public static let latinFields = Self(
    "latinFields", .tolerantReading, "A value that is not UTF-8 is delivered as ISO-8859-1"
  ) { run in
    let text = "\(Framing.closing)X-A: caf\u{E9}\r\nX-B: b\r\nContent-Length: 0\r\n\r\n"
    run.server.on("/", [.send(text.unicodeScalars.map { UInt8($0.value) }), .close])
    let headers = try await run.load().value.headers
    run.expect(headers["X-A"] == "caf\u{E9}", "X-A is \(headers["X-A"]?.debugDescription ?? "missing")")
    run.expect(headers["X-B"] == "b", "another field is missing")
  }

  /// A cookie and an entity tag beyond ASCII, which layers send back.
  public static let returnedFields = Self(
    "returnedFields", .tolerantReading, "A value beyond ASCII is sent back with the bytes that were received"
  ) { run in
    let (cookies, tag) = (["a=café", "b=cafe\u{301}", "c=€"], "\"ü\"")
    let fields = cookies.map { ("Set-Cookie", $0) } + [("ETag", tag), ("Cache-Control", "max-age=0")]
    run.server.on("/", .respond(headers: fields))
    let api = CacheResponses(in: HTTPCache()) --> StoreCookies(in: CookieJar()) --> run.loader
    for _ in 0..<2 { _ = try await api.load(try run.request()).value }
    for (name, value) in [("cookie", cookies.joined(separator: "; ")), ("if-none-match", tag)] {
      let sent = run.server.requests.last?.values(for: name) ?? []
      run.expect(sent.map { Array($0.utf8) } == [Array(value.utf8)], "\(name) was not sent, or with other bytes")
    }
  }

  /// A head with a field of 256 KiB, and a head with 2,000 fields.
  public static let largeHead = Self("largeHead", .wholeBodies, "A large head is an error or a response, and ends") {
    run in
    let lines = [
      "X-A: " + String(repeating: "a", count: 256 << 10), (0..<2_000).map { "X-\($0): a" }.joined(separator: "\r\n"),
    ]
    for (index, line) in lines.enumerated() {
      run.answer("/\(index)", "\(Framing.closing)Content-Length: 2\r\n\(line)\r\n\r\nok")
      let outcome = await (try run.load("/\(index)")).outcome
      if case .success(let response) = outcome {
        run.expect((try? response.body) == Data("ok".utf8), "the body of head \(index) is not the one sent")
      }
      run.expect(outcome.ending != .cancelled, "the load with head \(index) was cancelled")
    }
    try await run.expectUsable("after large heads")
  }
}

private enum Head {
  /// The first field does not announce a body.
  static let plain = Framing(
    name: "plain", head: "HTTP/1.1 200 OK\r\nX-A: a\r\nContent-Length: 2\r\n\r\n", content: "ok", wholeAt: 2)
  static let statusLineSize = "HTTP/1.1 200 OK\r\n".utf8.count
}

extension CheckRun {
  /// Sends a response with a malformed line between valid fields. Expects an error, or a response with the whole body that
  /// fulfills a condition.
  fileprivate func expectHarmless(
    _ line: String, at path: String, _ isHarmless: (HTTPResponse) -> Bool
  ) async {
    answer(path, "\(Framing.closing)Content-Length: 2\r\n\(line)\r\nX-B: b\r\n\r\nok")
    do {
      let outcome = await (try load(path)).outcome
      switch outcome {
      case .success(let response):
        expect(
          (try? response.body) == Data("ok".utf8) && isHarmless(response),
          "\(line.debugDescription) was accepted: \(response.headers.map(\.name))")
      case .failure(let error): expect(error is HTTPError, "\(line.debugDescription): \(error)")
      case .cancelled: report("\(line.debugDescription): the load was cancelled")
      }
    } catch { report("\(line.debugDescription): \(error)") }
  }
}
