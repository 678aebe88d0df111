import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting

extension TransportConformance.Check {
  static let streams: [Self] = [
    streamHead, streamOrder, streamUnsuccessful, streamCut, streamCutRead, streamTooLarge, streamCancelledBeforeHead,
    streamCancelled,
    streamForced, streamLeft, streamTaskCancelled, streamDropped, streamUnread, streamCancelledAtEveryByte, slowReader,
    streamReset,
  ]

  /// The server sends the head and five bytes, and the rest when the load has completed.
  public static let streamHead = Self(
    "streamHead", .atHead, "The load of a stream completes at the head, and its transfer when the body is whole"
  ) { run in
    let gate = LoopbackGate()
    run.server.on("/", .respond(body: "0123456789").held(at: 5, by: gate))
    let response = try await (try run.stream()).value
    var iterator = response.bodyStream.makeAsyncIterator()
    var bytes = Data()
    while bytes.count < 5, let chunk = try await iterator.next() { bytes += chunk }
    run.expect(!response.transfer.isCompleted, "the transfer has completed before its body has arrived")

    gate.open()
    while let chunk = try await iterator.next() { bytes += chunk }

    run.expect(bytes == Data("0123456789".utf8), "the stream has \(bytes.count) bytes, or other bytes")
    let outcome = await response.transfer.outcome
    run.expect(outcome.ending == .succeeded, "the transfer ended with \(CheckRun.text(outcome))")
    run.expect(response.bodySize == 10, "the size of the body is \(response.bodySize)")
  }

  /// A body of 1 MB in chunks and with a length, whose bytes differ.
  public static let streamOrder = Self("streamOrder", .atHead, "The chunks of a stream are whole and in order") { run in
    let chunks = (0..<100).map { [UInt8](repeating: $0, count: 9_000 + 20 * Int($0)) }
    let bytes = Array(chunks.joined())
    run.server.on("/length", .respond(body: bytes))
    run.server.on("/chunked", .stream(bytes: chunks))
    for path in ["/length", "/chunked"] {
      let received = try await (try run.stream(path)).value.bodyStream.reduce(into: Data()) { $0 += $1 }
      run.expect(received == Data(bytes), "\(path): \(received.count) of \(bytes.count) bytes, or other bytes")
    }
  }

  /// A 404, a 204 and a redirect, requested as streams.
  public static let streamUnsuccessful = Self(
    "streamUnsuccessful", .atHead, "A response that is not successful or has no body is delivered whole"
  ) { run in
    run.server.on("/404", .respond(status: 404, body: "missing"))
    run.server.on("/302", .respond(status: 302, headers: [("Location", "/")], body: "moved"))
    run.server.on("/204", .status(204))
    for (path, body) in [("/404", "missing"), ("/302", "moved"), ("/204", "")] {
      let response = await run.expectBody(body, of: try run.stream(path), path)
      run.expect(response?.transfer.isCompleted == true, "\(path): the transfer has not completed")
    }
  }

  /// The server closes the connection at each byte of a body.
  public static let streamCut = Self(
    "streamCut", .wholeBodies, "A stream that is cut at any byte ends with an error, after the bytes that arrived"
  ) { run in
    for framing in [Framing.length, .chunked] {
      for count in framing.headSize..<(framing.headSize + framing.wholeAt) {
        let path = "/\(framing.name)/\(count)"
        run.answer(path, framing.text(cutAt: count))
        let outcome = await Future.task { [load = try run.stream(path)] in
          try await load.value.bodyStream.reduce(into: Data()) { $0 += $1 }
        }.outcome
        guard case .failure(let error as HTTPError) = outcome, [.truncatedBody, .connectionLost].contains(error.code)
        else {
          run.report("\(framing.name) cut after \(count) bytes: expected an error, got \(CheckRun.text(outcome))")
          continue
        }
      }
    }
  }

  /// A body of 100 chunks of 10,000 bytes whose connection is then closed, before its reader begins and while it reads. The body
  /// fits into the buffer of a transport without back-pressure, and is larger than that of a transport that has it.
  public static let streamCutRead = Self(
    "streamCutRead", .backPressure, "A reader of a stream that is cut receives each byte that arrived before the error"
  ) { run in
    let chunks = (0..<100).map { LoopbackStep.chunk([UInt8](repeating: $0, count: 10_000)) }
    let bytes = Data((0..<100).flatMap { [UInt8](repeating: $0, count: 10_000) })
    run.server.on("/", .steps([.respond(headers: [("Transfer-Encoding", "chunked")])] + chunks + [.close]))
    for (reader, isLate) in [("an early reader", false), ("a late reader", true)] {
      let response = try await (try run.stream("/")).value
      // Other loads give the transport time to notice the close.
      if isLate { for _ in 0..<20 { try await run.expectUsable("before a reader") } }
      var received = Data()
      var ending = "the end of the body"
      do {
        for try await chunk in response.bodyStream { received += chunk }
      } catch let error as HTTPError { ending = error.code.description }
      run.expect(received == bytes, "\(reader): \(received.count) of \(bytes.count) bytes, or other bytes")
      run.expect(ending == HTTPError.Code.truncatedBody.description, "\(reader): expected truncatedBody, got \(ending)")
    }
  }

  /// A stream of 5 bytes with a limit of 3, with a length and in chunks.
  public static let streamTooLarge = Self("streamTooLarge", .wholeBodies, "A stream over its limit is an error") {
    run in
    run.server.on("/chunked", .stream(["abcde"]))
    run.server.on("/length", .respond(body: "abcde"))
    for path in ["/chunked", "/length"] {
      let ending = await Future.task { [load = try run.stream(path, .stream(maximumSize: 3))] in
        try await load.value.transfer.value
      }.outcome
      guard case .failure(let error as HTTPError) = ending, error.code == .bodyTooLarge else {
        run.report("\(path): expected bodyTooLarge, got \(CheckRun.text(ending))")
        continue
      }
    }
  }

  /// Streams that are cancelled at each byte of the head and of the body. Before the head the load is cancelled, and the
  /// transfer afterward.
  public static let streamCancelledAtEveryByte = Self(
    "streamCancelledAtEveryByte", .byTransfer,
    "A stream that is cancelled at any byte ends when its connection is closed"
  ) { run in
    let framing = Framing.length
    for count in 0..<framing.size {
      let (path, gate) = ("/\(count)", LoopbackGate())
      run.server.on(path, [.send(framing.text(cutAt: count)), .hold(gate)])
      let load = try run.stream(path)
      let hasHead = count >= framing.headSize
      if hasHead { _ = await load.outcome } else { _ = try await gate.waitForHolders().value }

      let isForced = !count.isMultiple(of: 2)
      if case .success(let response) = load.outcomeIfCompleted {
        response.transfer.cancel(isForced ? .forceImmediately : [])
        await run.expectCancelled(response.transfer, "after \(count) bytes")
      } else {
        load.cancel(isForced ? .forceImmediately : [])
        await run.expectCancelled(load, "after \(count) bytes")
      }
      if isForced { _ = try await run.server.waitForClose(of: path).value } else { try await run.expectClosed(path) }
    }
    try await run.expectUsable("after cancelled streams")
  }

  /// A body of 32 MiB, of which at most 256 KiB wait for the reader, who reads one chunk and then pauses.
  public static let slowReader = Self(
    "slowReader", .backPressure, "A reader that pauses receives the whole body in order, or the error streamOverflow"
  ) { run in
    let block = [UInt8](repeating: 7, count: 1 << 20)
    let head = LoopbackStep.send("HTTP/1.1 200 OK\r\nContent-Length: \(32 << 20)\r\n\r\n")
    run.server.on("/", .steps([head] + (0..<32).map { _ in .send(block) }))
    let response = try await (try run.stream("/", .stream(bufferLimit: 256 << 10))).value
    var iterator = response.bodyStream.makeAsyncIterator()
    var count = try await iterator.next()?.count ?? 0
    // Other loads give the transport time to receive more than it may.
    for _ in 0..<20 { try await run.expectUsable("during a pause of the reader") }
    run.expect(response.bodySize < 4 << 20, "\(response.bodySize >> 10) KiB were received during the pause")

    do {
      while let chunk = try await iterator.next() { count += chunk.count }
      run.expect(count == 32 << 20, "the stream ended after \(count >> 10) KiB without an error")
    } catch let error as HTTPError where error.code == .streamOverflow {
      run.expect(count < 4 << 20, "the buffer had \(count >> 10) KiB")
    }
  }

  /// Two streams in flight, one of which was forced to end before.
  public static let streamReset = Self(
    "streamReset", .endedByReset, "A reset ends the streams in flight and waits for them"
  ) { run in
    let gate = LoopbackGate()
    for path in ["/a", "/b"] { run.server.on(path, .respond(body: "0123456789").held(at: 5, by: gate)) }
    let responses = [try await (try run.stream("/a")).value, try await (try run.stream("/b")).value]
    responses[1].transfer.cancel(.forceImmediately)

    try await run.loader.reset().value

    for response in responses {
      run.expect(response.transfer.isCompleted, "the reset ended before a stream")
      await run.expectCancelled(response.transfer, "a stream in flight")
    }
    for path in ["/a", "/b"] { try await run.expectClosed(path) }
    try await run.expectUsable("after a reset")
  }
}

extension TransportConformance.Check {
  /// The server has received the request of a stream and does not answer.
  public static let streamCancelledBeforeHead = Self(
    "streamCancelledBeforeHead", .byTransfer, "A stream that is cancelled before its head closes its connection"
  ) { run in
    run.server.on("/stall", .stall)
    let load = try run.stream("/stall")
    _ = try await run.server.waitForRequest(to: "/stall").value

    load.cancel()

    await run.expectCancelled(load, "the load")
    try await run.expectClosed("/stall")
    try await run.expectUsable("after a cancelled stream")
  }

  /// The transfer of a stream is cancelled in its body.
  public static let streamCancelled = Self(
    "streamCancelled", .byTransfer,
    "A stream whose transfer is cancelled ends with the reason, and closes its connection"
  ) { run in
    try await run.endStream { response in
      let transfer = response!.transfer
      let receipt = transfer.cancel(reason: "the check cancelled it")
      run.expect(receipt.effect == .delivered, "the receipt of the request is: \(receipt)")
      if case .cancelled(let reason) = await transfer.observed().outcome {
        run.expect(reason.message == "the check cancelled it", "the reason is: \(reason.message)")
      }
    }
  }

  /// The transfer of a stream is cancelled in its body with `.forceImmediately`.
  public static let streamForced = Self(
    "streamForced", .byTransfer, "A transfer that is forced to end completes during the call, and closes its connection"
  ) { run in
    try await run.endStream(isForced: true) { response in
      response!.transfer.cancel(.forceImmediately)
      run.expect(response!.transfer.isCompleted, "the transfer is not completed after the call")
    }
  }

  /// The reader leaves its loop after the first chunk.
  public static let streamLeft = Self(
    "streamLeft", .byTransfer, "A stream whose reader leaves its loop closes its connection"
  ) { run in
    try await run.endStream { response in
      for try await _ in response!.bodyStream { break }
    }
  }

  /// The task of the reader is cancelled while it waits for the next chunk.
  public static let streamTaskCancelled = Self(
    "streamTaskCancelled", .byTransfer, "A stream whose reading task is cancelled closes its connection"
  ) { run in
    try await run.endStream { response in
      let (stream, begun) = (response!.bodyStream, Promise<Void>())
      let reading = Task {
        for try await _ in stream { begun.succeed() }
      }
      _ = await begun.future.outcome
      reading.cancel()
      let result = await reading.result
      run.expect((try? result.get()) == nil, "the reader ended without an error")
    }
  }

  /// The response is released and nobody reads its stream.
  public static let streamDropped = Self(
    "streamDropped", .byTransfer, "A stream that is dropped closes its connection"
  ) { run in
    try await run.endStream { response in response = nil }
  }

  /// A stream that nobody reads, with an idle-read timeout of 50 milliseconds.
  public static let streamUnread = Self(
    "streamUnread", .byTransfer, "A stream that is not read ends with its idle-read timeout, and closes its connection"
  ) { run in
    let gate = LoopbackGate()
    run.server.on("/held", .respond(body: "0123456789").held(at: 5, by: gate))
    let response = try await (try run.stream("/held", .stream(idleReadTimeout: .milliseconds(50)))).value

    let outcome = await response.transfer.outcome

    if case .failure(let error as HTTPError) = outcome, error.code == .bodyNotRead {
    } else {
      run.report("expected bodyNotRead, got \(CheckRun.text(outcome))")
    }
    _ = try await run.server.waitForClose(of: "/held").value
    try await run.expectUsable("after an unread stream")
  }
}

extension CheckRun {
  /// Starts a stream, ends it early, and expects that its transfer is cancelled when its connection is closed.
  ///
  /// - Parameters:
  ///   - isForced: Whether the transfer completes before its connection is closed.
  ///   - end: Ends the stream. It receives the only reference to the response.
  fileprivate func endStream(
    isForced: Bool = false, _ end: (inout HTTPResponse?) async throws -> Void
  ) async throws {
    let gate = LoopbackGate()
    server.on("/held", .respond(body: "0123456789").held(at: 5, by: gate))
    var response: HTTPResponse? = try await (try stream("/held")).value
    // An observer has no interest in the transfer, so it does not withhold the request of the reader.
    let ended = Promise<Void>()
    response!.transfer.observe { outcome in ended.complete(with: outcome) }

    try await end(&response)

    await expectCancelled(ended.future, "the transfer")
    if isForced { _ = try await server.waitForClose(of: "/held").value } else { try await expectClosed("/held") }
    try await expectUsable("after a stream that ended early")
    withExtendedLifetime(response) {}
  }
}
