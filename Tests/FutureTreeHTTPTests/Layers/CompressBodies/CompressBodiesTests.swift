import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

/// Decodes gzip with a decoder that is not the counterpart of the encoder where the platform has one.
private func gunzipped(_ data: Data) throws -> Data {
  #if os(Linux)
    let decoder = try #require(try BodyDecoder(["gzip"]))
    var decoded = Data()
    data.withUnsafeBytes { decoder.store($0) }
    try decoder.resume {
      decoded += $0
      return true
    }
    try decoder.finish()
    return decoded
  #else
    return try (data.dropFirst(10).dropLast(8) as NSData).decompressed(using: .zlib) as Data
  #endif
}

/// The bytes of a body, read in pieces.
private func bytes(of body: HTTPBody, upTo maximum: Int = 65_536) throws -> Data {
  let reader = try body.makeReader()
  var bytes = Data()
  while case let piece = try reader.read(upTo: maximum), !piece.isEmpty { bytes += piece }
  return bytes
}

/// Bytes that gzip makes fewer.
private func text(_ count: Int) -> Data { Data((0..<count).map { UInt8(truncatingIfNeeded: $0 / 7 % 64 + 32) }) }

/// Bytes that gzip does not make fewer.
private func noise(_ count: Int) -> Data {
  var state: UInt64 = 1
  return Data(
    (0..<count).map { _ in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(state >> 56)
    })
}

@Suite("Layers: CompressBodies") struct CompressBodiesTests {
  private let mock = MockLoader()

  /// The request that arrives behind the layer.
  private func sent(_ request: HTTPRequest, minimumSize: Int = 1_024) throws -> HTTPRequest {
    mock.answer()
    expectEqual((CompressBodies(minimumSize: minimumSize) --> mock).load(request).text, "success")
    return try #require(mock.requests.last)
  }

  private func post(_ body: HTTPBody, _ fields: [(String, String)] = []) throws -> HTTPRequest {
    var request = try HTTPRequest(.post, "https://example.com/a")
    request.body = body
    for (name, value) in fields { try request.setHeader(name, value) }
    return request
  }

  @Test("Bytes in memory are sent in gzip, with their type and their length", arguments: [1_024, 65_535])
  func memory(size: Int) throws {
    let request = try sent(post(.data(text(size), contentType: "text/csv")))

    let data = try #require(request.body.data)
    try expectEqual(gunzipped(data), text(size))
    // No time, so that equal bytes stay equal.
    expectEqual(data.prefix(9), Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0]))
    expectEqual(request.headers["Content-Encoding"], "gzip")
    expectEqual(request.body.contentType, "text/csv")
    expectEqual(request.body.contentLength, data.count)
    #expect(data.count < size)
  }

  @Test("All attempts send the same bytes")
  func attempts() throws {
    mock.answer(status: .serviceUnavailable)
    mock.answer()
    let api = CompressBodies() --> Retry(.exponential(attempts: 2, first: .zero)) --> mock
    var request = try post(.data(text(2_000)))
    request.method = .put

    expectEqual(api.load(request).text, "success")
    let bodies = mock.requests.map(\.body.data)
    expectEqual(bodies.count, 2)
    expectEqual(bodies[0], bodies[1])
    expectEqual(mock.requests.map { $0.headers.values(for: "Content-Encoding") }, [["gzip"], ["gzip"]])
  }

  @Test("A redirect that drops the body drops its coding")
  func redirected() throws {
    mock.redirect(303, to: "/b")
    mock.answer()

    expectEqual((CompressBodies() --> Redirect() --> mock).load(try post(.data(text(2_000)))).text, "success")
    expectEqual(mock.requests.map { $0.headers["Content-Encoding"] }, ["gzip", nil])
  }

  @Test("Requests that gain nothing, or that describe their bytes, are forwarded as they are")
  func unchanged() throws {
    let large = text(4_096)
    for (body, fields) in [
      (HTTPBody.empty, []), (.data(Data()), []), (.data(text(1_023)), []), (.data(noise(4_096)), []),
      (.data(large), [("Content-Encoding", "br")]), (.data(large), [("content-digest", "sha-256=:AA==:")]),
      (.data(large), [("Content-MD5", "AA==")]),
      (.data(large), [("Repr-Digest", "sha-256=:AA==:")]), (.data(large), [("Digest", "md5=AA==")]),
      (.data(large), [("Content-Range", "bytes 0-4095/5000")]), (.data(large), [("Content-Type", "IMAGE/png")]),
      (.data(large, contentType: "video/mp4; codecs=a"), []), (.data(large, contentType: "application/epub+zip"), []),
      (.data(large, contentType: "font/woff2"), []), (.file(URL(fileURLWithPath: "/a"), contentType: "audio/aac"), []),
    ] as [(HTTPBody, [(String, String)])] {
      let request = try post(body, fields)
      let forwarded = try sent(request)
      expectEqual(forwarded.curl(redacting: .nothing), request.curl(redacting: .nothing))
    }
    for type in ["image/svg+xml", "application/json", "image/bmp", "application/octet-stream"] {
      try expectEqual(sent(post(.data(large, contentType: type))).headers["Content-Encoding"], "gzip")
    }
    try expectEqual(sent(post(.data(text(100))), minimumSize: -1).headers["Content-Encoding"], "gzip")
  }

  @Test("Large bytes are compressed on the executor, unless the load is cancelled before", arguments: [true, false])
  func executor(isCancelled: Bool) throws {
    let pool = ManualExecutor()
    let load = (CompressBodies(on: pool.executor) --> mock).load(try post(.data(text(65_536))))
    mock.answer()

    expectEqual("\(load.tree())".contains("CompressBodies"), true)
    #expect(mock.requests.isEmpty)
    if isCancelled { load.cancel(reason: "enough") }
    pool.runAll()

    expectEqual(load.text, isCancelled ? "cancelled" : "success")
    try expectEqual(mock.requests.compactMap(\.body.data).map(gunzipped), isCancelled ? [] : [text(65_536)])
  }

  // MARK: Files and streams

  @Test("Files and streams are compressed while they are read", arguments: [0, 1, 65_535, 65_536, 65_537, 400_000])
  func blocks(size: Int) async throws {
    let folder = try Folder()
    let file = folder.file("a")
    for data in [text(size), noise(size)] {
      try data.write(to: file)
      for body in [
        .file(file, contentType: "text/plain"),
        .stream(length: size, isReplayable: false, contentType: "text/plain") {
          HTTPBodyReader(InputStream(data: data))
        },
      ] as [HTTPBody] {
        let request = try sent(post(body))

        expectEqual(request.headers["Content-Encoding"], "gzip")
        expectEqual(request.body.contentLength, nil)
        expectEqual(request.body.isReplayable, body.isReplayable)
        expectEqual(request.body.contentType, "text/plain")
        try expectEqual(gunzipped(bytes(of: request.body)), data)
        guard body.isReplayable else { continue }
        try expectEqual(gunzipped(bytes(of: request.body, upTo: 7)), data)
      }
      let chunks = [data.prefix(1), Data(), data.dropFirst()].map { Data($0) }
      let request = try sent(post(.asyncStream { RecordedChunks(chunks) }))
      var collected = Data()
      for try await chunk in request.body.chunks(upTo: 100) { collected += chunk }
      try expectEqual(gunzipped(collected), data)
      try expectEqual(gunzipped(bytes(of: request.body)), data)
    }
    withExtendedLifetime(folder) {}
  }

  @Test("An error of the source is the error of the compressed body, which has no end")
  func faults() async throws {
    let short = try sent(post(.stream(length: 9) { HTTPBodyReader(InputStream(data: Data("short".utf8))) }))
    let missing = try sent(post(.file(URL(fileURLWithPath: "/missing/file"))))
    let ending = try sent(post(.asyncStream(length: 9) { RecordedChunks([Data("short".utf8)]) }))

    for (request, code) in [
      (short, HTTPError.Code.wrongBodyLength), (missing, .unreadableBody), (ending, .wrongBodyLength),
    ] {
      let error = #expect(throws: HTTPError.self) { try bytes(of: request.body) }
      expectEqual(error?.code, code)
      let other = await #expect(throws: HTTPError.self) { for try await _ in request.body.chunks() {} }
      expectEqual(other?.code, code)
    }
  }

  @Test("A chunk of a stream is sent when it is read, before the next one is asked for")
  func flushed() throws {
    let chunks = Locked([Data("one ".utf8), Data("two".utf8)])
    let request = try sent(
      post(.stream { HTTPBodyReader { _ in chunks.withLock { $0.isEmpty ? Data() : $0.removeFirst() } } }))

    let reader = try request.body.makeReader()
    var encoded = try reader.read(upTo: 1_000)
    encoded += try reader.read(upTo: 1_000)
    expectEqual(chunks.value.count, 0)
    // The data has no end yet.
    #if os(Linux)
      let decoder = try #require(try BodyDecoder(["gzip"]))
      var decoded = Data()
      encoded.withUnsafeBytes { decoder.store($0) }
      try decoder.resume {
        decoded += $0
        return true
      }
      expectEqual(decoded, Data("one two".utf8))
    #endif
    #expect(try reader.read(upTo: 1_000).isEmpty == false)
  }

  @Test("A compressed stream is read no further than it is needed")
  func pressure() throws {
    let count = Locked(0)
    let request = try sent(
      post(
        .stream {
          HTTPBodyReader { maximum in
            count.withLock { $0 += 1 }
            return noise(maximum)
          }
        }))

    let reader = try request.body.makeReader()
    expectEqual(count.value, 0)
    for _ in 0..<10 { _ = try reader.read(upTo: 1_000) }
    #expect((1...3).contains(count.value))
  }
}

@Suite("Layers: CompressBodies on sockets", .onSockets) struct CompressBodiesOnSocketsTests {
  @Test("A server receives gzip with a length for bytes in memory, and in chunks for a file")
  func wire() async throws {
    let (server, folder) = (try Loopback.server(), try Folder())
    server.on("/upload", .respond(status: 201))
    let api = CompressBodies() --> SystemLoader(.patient, clock: ManualClock())
    let data = text(200_000)
    try data.write(to: folder.file("a"))

    for body in [HTTPBody.data(data), .file(folder.file("a"))] {
      var request = HTTPRequest(.put, try HTTPURL(server.url("/upload")))
      request.body = body
      _ = try await api.load(request).value
    }

    for received in server.requests {
      expectEqual(received.values(for: "content-encoding"), ["gzip"])
      try expectEqual(gunzipped(Data(received.body)), data)
    }
    expectEqual(server.requests.map { $0.values(for: "content-length").count }, [1, 0])
    withExtendedLifetime(folder) {}
  }
}
