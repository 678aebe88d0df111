import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting

extension TransportConformance.Check {
  static let framing: [Self] = [
    framings, cutBody, resetBody, excessBytes, contentLengths, lengthAndCoding, transferCodings, chunkSizes,
    chunkSuffixes,
    chunkEnds, truncatedEncoding, emptyEncoded, unknownEncodings, sizeLimit, noBody, trailers,
  ]

  /// Bodies with a length, in chunks, and until the connection closes, and a body of 1 MiB.
  public static let framings = Self("framings", .wholeBodies, "A body in each framing is delivered whole") { run in
    for framing in [Framing.length, .chunked] {
      run.server.on("/\(framing.name)", .send(framing.text))
      await run.expectBody(Framing.body, of: try run.load("/\(framing.name)"), framing.name)
    }
    run.answer("/untilClose", Framing.untilClose.text)
    await run.expectBody(Framing.body, of: try run.load("/untilClose"), "untilClose")
    let large = String(repeating: "0123456789abcdef", count: 65_536)
    run.server.on("/large", .respond(body: large))
    run.server.on("/chunks", .stream((0..<16).map { _ in String(large.prefix(65_536)) }))
    for path in ["/large", "/chunks"] { await run.expectBody(large, of: try run.load(path), path) }
  }

  /// The server closes the connection at each byte of a body with a length and of a body in chunks.
  public static let cutBody = Self("cutBody", .wholeBodies, "A body that is cut at any byte is an error") { run in
    for framing in [Framing.length, .chunked] {
      for count in framing.headSize..<framing.size {
        let path = "/\(framing.name)/\(count)"
        run.answer(path, framing.text(cutAt: count))
        await run.expectCut(try run.load(path), framing, at: count)
      }
    }
  }

  /// The server resets the connection in bodies of each framing.
  public static let resetBody = Self("resetBody", .wholeBodies, "A body whose connection is reset is an error") { run in
    for framing in Framing.all {
      for count in stride(from: framing.headSize, to: framing.size, by: 3) {
        let path = "/\(framing.name)/\(count)"
        run.answer(path, framing.text(cutAt: count), .reset)
        await run.expectFailure(
          of: try run.load(path), .truncatedBody, .connectionLost, name: "\(framing.name) reset after \(count) bytes")
      }
    }
  }

  /// A second response follows a body with a length, in one packet.
  public static let excessBytes = Self(
    "excessBytes", .wholeBodies, "Bytes after a body are not the response to another request"
  ) { run in
    let forged = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
    for framing in [Framing.length, .chunked] {
      run.server.on("/\(framing.name)", .send(framing.text + forged))
      switch await (try run.load("/\(framing.name)")).outcome {
      case .success(let response):
        run.expect((try? response.body) == Data(Framing.body.utf8), "\(framing.name): the body is not the one sent")
      case .failure(let error): run.expect(error is HTTPError, "\(framing.name): \(error)")
      case .cancelled: run.report("\(framing.name): the load was cancelled")
      }
      // A transport that notices the bytes late can fail this load, because it closes the connection.
      run.server.on("/next", .respond(body: "next"))
      if case .success(let response) = await (try run.load("/next")).outcome {
        run.expect((try? response.body) == Data("next".utf8), "\(framing.name): the next response is the forged one")
      }
      try await run.expectUsable("after excess bytes, \(framing.name)")
    }
  }

  /// Lengths that differ, are negative, are too large, or are not numbers.
  public static let contentLengths = Self(
    "contentLengths", .wholeBodies, "A response with an invalid or ambiguous length is an error"
  ) { run in
    let lengths = [
      "-5", "99999999999999999999999", "2, 3", "two", "0x2", "2 2", "2\u{1}", "2é", "2\r\nContent-Length: 5",
    ]
    for (index, length) in lengths.enumerated() {
      run.answer("/\(index)", "\(Framing.closing)Content-Length: \(length)\r\n\r\nok")
      await run.expectFailure(of: try run.load("/\(index)"), name: "Content-Length: \(length.debugDescription)")
    }
  }

  /// Responses with `Content-Length` and `Transfer-Encoding`, in either order.
  public static let lengthAndCoding = Self(
    "lengthAndCoding", .wholeBodies, "A response with both a length and chunks is an error"
  ) { run in
    let fields = [
      "Content-Length: 2\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 12",
    ]
    for (index, fields) in fields.enumerated() {
      run.answer("/\(index)", "\(Framing.closing)\(fields)\r\n\r\n2\r\nok\r\n0\r\n\r\n")
      await run.expectFailure(of: try run.load("/\(index)"), name: fields.debugDescription)
    }
  }

  /// Values of `Transfer-Encoding` other than `chunked`.
  public static let transferCodings = Self(
    "transferCodings", .wholeBodies, "A response with an unknown transfer coding is an error"
  ) { run in
    for (index, coding) in ["gzip, chunked", "chunked, chunked", "xchunked", "chunked\u{b}", "chunked, gzip"]
      .enumerated()
    {
      run.answer("/\(index)", "\(Framing.closing)Transfer-Encoding: \(coding)\r\n\r\n2\r\nok\r\n0\r\n\r\n")
      await run.expectFailure(of: try run.load("/\(index)"), name: "Transfer-Encoding: \(coding.debugDescription)")
    }
  }

  /// Sizes of chunks that are not hexadecimal numbers, or are too large.
  public static let chunkSizes = Self("chunkSizes", .wholeBodies, "A chunk with an invalid size is an error") { run in
    for (index, size) in ["g", "-2", "+2", "0x2", "", "FFFFFFFFFFFFFFFFF", "8000000000000002"].enumerated() {
      await run.expectFailure(
        of: try run.load("/\(index)", chunks: "\(size)\r\nok\r\n0\r\n\r\n"), name: size.debugDescription)
    }
  }

  /// A valid size that is followed by text that is no extension.
  public static let chunkSuffixes = Self(
    "chunkSuffixes", .wholeBodies, "A chunk size with other text than an extension is an error"
  ) { run in
    for (index, size) in ["2 2", "2x", "2,2"].enumerated() {
      await run.expectFailure(
        of: try run.load("/\(index)", chunks: "\(size)\r\nok\r\n0\r\n\r\n"), name: size.debugDescription)
    }
  }

  /// Chunks without a line end after their bytes.
  public static let chunkEnds = Self(
    "chunkEnds", .wholeBodies, "A chunk with more bytes than its size is an error"
  ) { run in
    for (index, content) in ["2\r\nokay\r\n0\r\n\r\n", "2\r\nok0\r\n\r\n", "2\r\nok3\r\nabc\r\n0\r\n\r\n"].enumerated()
    {
      await run.expectFailure(of: try run.load("/\(index)", chunks: content), name: content.debugDescription)
    }
  }

  /// The first half of a gzip body, in a correct framing.
  public static let truncatedEncoding = Self(
    "truncatedEncoding", .wholeBodies, "An encoded body that ends early is an error, or is delivered encoded"
  ) { run in
    let half: [UInt8] = [31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201]
    run.server.on("/", .respond(headers: [("Content-Encoding", "gzip")], body: half))
    switch await (try run.load()).outcome {
    case .success(let response):
      let isEncoded = response.headers["Content-Encoding"] == "gzip" && (try? response.body) == Data(half)
      run.expect(isEncoded, "the response was decoded to \(response.bodySize) bytes")
    case .failure(let error): run.expect(error is HTTPError, "\(error)")
    case .cancelled: run.report("the load was cancelled")
    }
  }

  /// Empty bodies with `Content-Length: 0` and an encoding.
  public static let emptyEncoded = Self(
    "emptyEncoded", .tolerantReading, "An empty body is delivered, whatever its encoding is"
  ) { run in
    for (index, encoding) in ["gzip", "deflate", "br", "identity", "aws-chunked"].enumerated() {
      for status in [200, 202, 302] {
        let path = "/\(status)/\(index)"
        run.server.on(
          path,
          .respond(
            status: status, headers: [("Content-Encoding", encoding), ("Location", "/"), ("Content-Length", "0")]))
        let response = await run.expectBody("", of: try run.load(path), "\(status) with \(encoding)")
        run.expect(response?.status.code == status, "\(status) with \(encoding): the status is another one")
      }
    }
  }

  /// Bodies with names of encodings that no transport decodes.
  public static let unknownEncodings = Self(
    "unknownEncodings", .tolerantReading, "A body with an encoding that no client decodes is delivered as it was sent"
  ) { run in
    for (index, encoding) in ["aws-chunked", "utf-8", "UTF-8, identity"].enumerated() {
      run.server.on("/\(index)", .respond(headers: [("Content-Encoding", encoding)], body: "body"))
      let response = await run.expectBody("body", of: try run.load("/\(index)"), encoding)
      if let response {
        run.expect(response.headers["Content-Encoding"] == encoding, "\(encoding): the field is missing or changed")
      }
    }
  }

  /// Bodies of 10 and 11 bytes with a limit of 10, with a length and in chunks.
  public static let sizeLimit = Self("sizeLimit", .wholeBodies, "A body over the limit of its request is an error") {
    run in
    for (body, isWithin) in [("0123456789", true), ("0123456789A", false)] {
      run.server.on("/length", .respond(body: body))
      run.server.on("/chunked", .stream([body]))
      for path in ["/length", "/chunked"] {
        let load = try run.load(path) { $0.delivery = .buffered(maximumSize: 10) }
        guard isWithin else {
          await run.expectFailure(of: load, .bodyTooLarge, name: path)
          continue
        }
        await run.expectBody(body, of: load, path)
      }
    }
  }

  /// Responses to `HEAD`, and with 204 and 304, two of which declare a length and an encoding.
  public static let noBody = Self(
    "noBody", .wholeBodies, "A response to HEAD, a 204 and a 304 have no body, whatever they declare"
  ) { run in
    let fields = "Content-Length: 100\r\nContent-Encoding: gzip\r\n"
    run.server.on("/head", .send("HTTP/1.1 200 OK\r\n\(fields)\r\n"))
    run.server.on("/204", .send("HTTP/1.1 204 No Content\r\n\r\n"))
    run.server.on("/304", .send("HTTP/1.1 304 Not Modified\r\n\(fields)\r\n"))
    for (path, method, status) in [("/head", HTTPMethod.head, 200), ("/204", .get, 204), ("/304", .get, 304)] {
      let response = await run.expectBody("", of: run.loader.load(try run.request(path, method)), path)
      run.expect(response?.status.code == status, "\(path): the status is \(response?.status.description ?? "missing")")
    }
    try await run.expectUsable("after responses without a body")
  }

  /// Header fields after the last chunk.
  public static let trailers = Self("trailers", .wholeBodies, "A body with trailer fields is delivered whole") { run in
    run.server.on("/", .send(Framing.chunked.head + "2\r\nok\r\n0\r\nX-Digest: 1\r\nX-Sum: 2\r\n\r\n"))
    await run.expectBody("ok", of: try run.load(), "a body with trailers")
    try await run.expectUsable("after trailers")
    // RFC 9110, section 6.5.1: a trailer cannot change the framing. It can be ignored or refused.
    run.server.on("/framing", .send(Framing.chunked.head + "2\r\nok\r\n0\r\nContent-Length: 5\r\n\r\n"))
    if case .success(let response) = await (try run.load("/framing")).outcome {
      run.expect((try? response.body) == Data("ok".utf8), "a trailer field changed the body")
      run.expect(!response.headers.contains("Content-Length"), "a trailer field was merged into the header fields")
    }
  }
}

extension CheckRun {
  /// Loads a response with this chunked content, after which the connection closes.
  fileprivate func load(_ path: String, chunks: String) throws -> Future<HTTPResponse> {
    answer(path, "\(Framing.closing)Transfer-Encoding: chunked\r\n\r\n\(chunks)")
    return try load(path)
  }

  /// Expects an error of a body that was cut, or the whole body if only the end of its framing was missing.
  func expectCut(_ load: Future<HTTPResponse>, _ framing: Framing, at count: Int) async {
    let outcome = await load.outcome
    if case .failure(let error as HTTPError) = outcome, [.truncatedBody, .connectionLost].contains(error.code) {
      return
    }
    if case .success(let response) = outcome, count >= framing.headSize + framing.wholeAt,
      response.bodySize == Framing.body.utf8.count
    {
      return
    }
    report("\(framing.name) cut after \(count) bytes: expected an error, got \(Self.text(outcome))")
  }
}

/// A response with the body `01234567`, in one of the framings of HTTP/1.1 (RFC 9112, section 6).
struct Framing: Sendable {
  let name: String
  let head: String
  /// The body with its framing.
  let content: String
  /// The number of bytes of `content` after which the body is whole, although the end of the framing can be missing.
  let wholeAt: Int

  static let body = "01234567"

  static let length = Framing(
    name: "length", head: "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n", content: body, wholeAt: 8)
  /// Chunks of different sizes, one with an extension.
  static let chunked = Framing(
    name: "chunked", head: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    content: "3;a=b\r\n012\r\n05\r\n34567\r\n0\r\n\r\n", wholeAt: 26)
  /// The body ends with its connection.
  static let untilClose = Framing(
    name: "untilClose", head: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", content: body, wholeAt: 8)

  /// The beginning of a response that announces the close of its connection.
  static let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\n"

  static let all = [length, chunked, untilClose]

  var text: String { head + content }

  /// The first bytes of the response. A line end is two bytes.
  func text(cutAt count: Int) -> String { String(decoding: text.utf8.prefix(count), as: UTF8.self) }

  /// The number of bytes of the head.
  var headSize: Int { head.utf8.count }

  /// The number of bytes of the response.
  var size: Int { text.utf8.count }

  /// The head and the first half of the body.
  var half: String { text(cutAt: headSize + content.utf8.count / 2) }
}
