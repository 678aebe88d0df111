import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting

extension TransportConformance.Check {
  /// Bodies from data, a file, an `InputStream` and a reader, with and without a known length.
  public static let bodies = Self(
    "bodies", .asSent, "A body is sent whole, with its type, and with its length or in chunks"
  ) { run in
    let folder = try CheckFolder()
    let text = String(repeating: "0123456789", count: 20_000)
    let file = try folder.write(text, to: "body")
    let open: @Sendable () -> HTTPBodyReader = { HTTPBodyReader(InputStream(data: Data(text.utf8))) }
    let type = "text/plain"
    let bodies: [(String, HTTPBody, isLengthKnown: Bool)] = [
      ("data", .data(Data(text.utf8), contentType: type), true), ("file", .file(file, contentType: type), true),
      ("stream", .stream(length: text.utf8.count, contentType: type, open: open), true),
      ("chunks", .stream(contentType: type, open: open), false),
    ]
    for (name, body, isLengthKnown) in bodies {
      try await run.expectUpload(of: body, text, type, isLengthKnown, name)
    }
    try await run.expectUpload(of: .data(Data(), contentType: type), "", type, true, "empty data")
  }

  /// Asynchronous sequences with and without a known length, in chunks of different sizes.
  public static let asyncBodies = Self(
    "asyncBodies", .asSent, "A body from an asynchronous sequence is sent whole, with its length or in chunks"
  ) { run in
    let chunks = [1, 300_000, 17, 65_536].map { String(repeating: "a", count: $0) }
    let text = chunks.joined()
    for length in [text.utf8.count, nil] {
      let body = HTTPBody.asyncStream(length: length, contentType: "text/plain") {
        AsyncStream<Data> { continuation in
          for chunk in chunks { continuation.yield(Data(chunk.utf8)) }
          continuation.finish()
        }
      }
      try await run.expectUpload(of: body, text, "text/plain", length != nil, length == nil ? "chunks" : "length")
    }
  }

  /// Fields after a body from data and from a reader.
  public static let requestTrailers = Self(
    "requestTrailers", .asSent, "The fields after a body are sent, or the request is refused with `unsupportedTrailers`"
  ) { run in
    run.server.on("/upload", .respond())
    for body in [HTTPBody.data(Data("0123456789".utf8)), CheckRun.body(of: 10, length: 10)] {
      var request = try run.request("/upload", .put, body: body)
      request.trailers = try RequestTrailers(["X-Count"], from: 0) { count, bytes in
        count += bytes.count
      } fields: { count in
        ["X-Count": "\(count)"]
      }
      let load = run.loader.load(request)
      if case .failure(let error) = await load.outcome, (error as? HTTPError)?.code == .unsupportedTrailers { continue }
      _ = try await load.value
      let received = run.server.record.requests(to: "/upload").last
      let fields = received?.trailers.map { "\($0.name.lowercased()): \($0.value)" }
      run.expect(fields == ["x-count: 10"], "the fields after the body are \(fields ?? [])")
      run.expect(received?.body.count == 10, "\(received?.body.count ?? 0) of 10 bytes arrived")
      run.expect(received?.values(for: "trailer") == ["X-Count"], "the fields are not announced in Trailer")
    }
  }

  /// Bodies that end one byte early or late.
  public static let wrongLength = Self(
    "wrongLength", .asSent,
    "A body with fewer or more bytes than announced fails, and the server receives no whole request"
  ) { run in
    run.server.on("/upload", .respond())
    for size in [9, 11] {
      let load = run.loader.load(try run.request("/upload", .put, body: CheckRun.body(of: size, length: 10)))
      await run.expectFailure(of: load, .wrongBodyLength, name: "a body with \(size) of 10 bytes")
    }
    try await run.expectUsable("after bodies with a wrong length")
    run.expect(!run.server.record.hasRequest(to: "/upload"), "the server received a whole request")
  }

  /// Sources that throw an error when they are opened, and after the first bytes.
  public static let unreadableBody = Self(
    "unreadableBody", .asSent, "A body whose source fails is an error, and the server receives no whole request"
  ) { run in
    struct Broken: Error {}
    run.server.on("/upload", .respond())
    let reading: @Sendable () -> HTTPBodyReader = {
      var isFirst = true
      return HTTPBodyReader { _ in
        guard isFirst else { throw Broken() }
        isFirst = false
        return Data("01".utf8)
      }
    }
    let asynchronous = HTTPBody.asyncStream {
      AsyncThrowingStream<Data, any Error> { continuation in
        continuation.yield(Data("01".utf8))
        continuation.finish(throwing: Broken())
      }
    }
    let bodies: [(String, HTTPBody)] = [
      ("when it is opened", .stream(length: 10) { throw Broken() }),
      ("with a length", .stream(length: 10, open: reading)),
      ("in chunks", .stream(open: reading)), ("asynchronous", asynchronous),
      ("a missing file", .file(try CheckFolder().file("missing"))),
    ]
    for (name, body) in bodies {
      await run.expectFailure(
        of: run.loader.load(try run.request("/upload", .put, body: body)), .unreadableBody, name: name)
    }
    try await run.expectUsable("after unreadable bodies")
    run.expect(!run.server.record.hasRequest(to: "/upload"), "the server received a whole request")
  }

  /// The server reads only the head of an upload of 1 GiB, until the transport waits for the connection.
  public static let pulledUpload = Self(
    "pulledUpload", .backPressure, "The body of a request is read as fast as the server receives it"
  ) { run in
    let (gate, pulled) = (LoopbackGate(), Locked(0))
    run.server.on("/upload", beginning: .headComplete, [.stopReading, .hold(gate)])
    let body = CheckRun.body(of: 1 << 30, length: 1 << 30) { count in pulled.withLock { $0 += count } }
    let load = run.loader.load(try run.request("/upload", .put, body: body))
    _ = try await gate.waitForHolders().value
    // Other loads give the transport time to read more than it may.
    for _ in 0..<20 { try await run.expectUsable("during an upload") }

    load.cancel()

    await run.expectCancelled(load, "the upload")
    run.expect(pulled.value < 1 << 27, "the transport read \(pulled.value >> 20) MiB that the server did not receive")
  }
}

extension CheckRun {
  /// Expects that a body arrives with these bytes, this type, and the framing for a known or unknown length.
  fileprivate func expectUpload(
    of body: HTTPBody, _ text: String, _ type: String, _ isLengthKnown: Bool, _ name: String
  ) async throws {
    let path = "/\(server.requestCount)"
    server.on(path, .respond(status: 201))
    _ = try await loader.load(try request(path, .put, body: body)).value
    guard let received = server.record.requests(to: path).first else { return report("\(name): no request arrived") }
    let (lengths, codings) = (received.values(for: "content-length"), received.values(for: "transfer-encoding"))

    expect(
      received.text == text, "\(name): \(received.body.count) of \(text.utf8.count) bytes, or other bytes, arrived")
    expect(lengths == (isLengthKnown ? ["\(text.utf8.count)"] : []), "\(name): the field Content-Length is \(lengths)")
    expect(codings == (isLengthKnown ? [] : ["chunked"]), "\(name): the field Transfer-Encoding is \(codings)")
    expect(
      received.values(for: "content-type") == [type], "\(name): the type is \(received.values(for: "content-type"))")
    expect(received.values(for: "expect").isEmpty, "\(name): the transport waits for 100 Continue")
  }
}
