import Foundation
import FutureTree
import FutureTreeHTTP

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
