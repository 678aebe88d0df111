import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting

extension TransportConformance.Check {
  static let completion: [Self] = [
    racedCancellations, callbacks, earlyResponse, cancelledQueued, cancelledAtOnce, cancelledBeforeHead,
    cancelledInBody,
    cancelledUpload, cancelledAtEveryByte, forced, resetWaits, resetTwice, sameRequestTwice, parallelLoads,
  ]

  /// 200 loads of a body, of a redirect and of a challenge each, which are cancelled while the server answers.
  public static let racedCancellations = Self(
    "racedCancellations", .completesOnce, "A load whose cancellation races its response is whole or cancelled"
  ) { run in
    run.server.on("/200", .respond(body: "body"))
    run.server.on("/302", .respond(status: 302, headers: [("Location", "/200")], body: "body"))
    run.server.on("/401", .respond(status: 401, headers: [("WWW-Authenticate", "Basic realm=\"a\"")], body: "body"))
    for path in ["/200", "/302", "/401"] {
      for batch in 0..<10 {
        let loads = try (0..<20).map { _ in try run.load(path) }
        for load in loads.prefix(batch * 2) { _ = await load.outcome }
        for load in loads { load.cancel() }
        for load in loads where await load.outcome.ending != .cancelled {
          await run.expectBody("body", of: load, "a load of \(path) that was not cancelled")
        }
      }
    }
    try await run.expectUsable("after raced cancellations")
  }

  /// Callbacks of completed loads start, cancel and reset.
  public static let callbacks = Self(
    "callbacks", .completesOnce, "A callback of a load can load, cancel and reset"
  ) { run in
    run.server.on("/", .respond(body: "body"))
    run.server.on("/stall", .stall)
    let stalled = try run.load("/stall")
    _ = try await run.server.waitForRequest(to: "/stall").value
    let next = try run.request()

    let chain = try run.load().flatMap { [loader = run.loader] _ in
      stalled.cancel()
      return loader.load(next)
    }
    .flatMap { [loader = run.loader] response in loader.reset().map { response } }

    await run.expectBody("body", of: chain, "the load in a callback")
    await run.expectCancelled(stalled, "the load that the callback cancelled")
  }

  /// The server answers 413 after the head of an upload of 64 MiB, with a length or in chunks, and closes the connection.
  public static let earlyResponse = Self(
    "earlyResponse", .completesOnce, "An upload that is answered early completes with the response or an error"
  ) { run in
    for framing in [Framing.length, .chunked] {
      let answer = framing.text.replacing("200 OK", with: "413 Content Too Large\r\nConnection: close")
      run.server.on("/upload", beginning: .headComplete, [.stopReading, .send(answer), .close])

      let load = run.loader.load(try run.request("/upload", .put, body: CheckRun.body(of: 64 << 20, length: 64 << 20)))

      switch await load.outcome {
      case .success(let response): run.expect(response.status.code == 413, "the status is \(response.status)")
      case .failure(let error): run.expect(error is HTTPError, "the error is no HTTPError: \(error)")
      case .cancelled: run.report("the load was cancelled")
      }
      try await run.expectUsable("after an early response")
    }
  }

  /// 100 uploads to a server that does not answer. Most of them wait for a connection if the transport limits their number.
  public static let cancelledQueued = Self(
    "cancelledQueued", .holderCompletes, "A load that has been cancelled is not sent later"
  ) { run in
    run.server.on("/held", beginning: .headComplete, .stall)
    let completed = Locked<Set<Int>>([])
    let sent = Locked<Set<Int>>([])
    let loads = try (0..<100).map { index in
      let body = HTTPBody.stream(length: 1) {
        if completed.withLock({ $0.contains(index) }) { sent.withLock { _ = $0.insert(index) } }
        return HTTPBodyReader(InputStream(data: Data("a".utf8)))
      }
      return run.loader.load(try run.request("/held", .put, body: body))
    }
    _ = try await run.server.waitUntil { !$0.requests.isEmpty }.value

    for load in loads { load.cancel() }
    for (index, load) in loads.enumerated() {
      await run.expectCancelled(load, "upload \(index)")
      completed.withLock { _ = $0.insert(index) }
    }

    try await run.loader.reset().value
    try await run.expectUsable("after 100 cancelled loads")
    run.expect(sent.value.isEmpty, "\(sent.value.count) uploads began after their loads had completed")
  }

  /// 50 loads that are cancelled before the caller does anything else.
  public static let cancelledAtOnce = Self(
    "cancelledAtOnce", .holderCompletes, "A load that is cancelled at once ends, and leaves no connection in use"
  ) { run in
    run.server.on("/held", .stall)

    let loads = try (0..<50).map { _ in try run.load("/held") }
    for load in loads { load.cancel() }

    for load in loads { await run.expectCancelled(load, "a load that was cancelled at once") }
    try await run.expectUsable("after loads that were cancelled at once")
    try await run.waitUntilAbandoned("/held")
  }

  /// The server has received the request and does not answer.
  public static let cancelledBeforeHead = Self(
    "cancelledBeforeHead", .confirmedCancellation,
    "A load that is cancelled before the head ends with the reason, when its connection is closed"
  ) { run in
    for options in [CancellationOptions(), .doNotForwardIfOthersWaiting] {
      let path = "/held/\(options.rawValue)"
      run.server.on(path, .stall)
      let load = try run.load(path)
      _ = try await run.server.waitForRequest(to: path).value

      let receipt = load.cancel(options, reason: "the check cancelled it")

      run.expect(receipt.effect == .delivered, "the receipt of the request is: \(receipt)")
      await run.expectCancelled(load, "the load")
      if case .cancelled(let reason) = load.outcomeIfCompleted {
        run.expect(reason.message == "the check cancelled it", "the reason is: \(reason.message)")
      }
      try await run.expectClosed(path)
    }
    try await run.expectUsable("after a cancelled load")
  }

  /// The server has sent a part of a body with a length, in chunks, and without a framing.
  public static let cancelledInBody = Self(
    "cancelledInBody", .confirmedCancellation,
    "A load that is cancelled in its body ends when its connection is closed"
  ) { run in
    for framing in Framing.all {
      let (path, gate) = ("/held/\(framing.name)", LoopbackGate())
      run.server.on(path, [.send(framing.half), .hold(gate)])
      let load = try run.load(path)
      _ = try await gate.waitForHolders().value

      load.cancel()

      await run.expectCancelled(load, "a body \(framing.name)")
      try await run.expectClosed(path)
    }
    try await run.expectUsable("after a cancelled load")
  }

  /// The server reads only the head of an upload of 1 GiB. The upload is cancelled when it begins, and when it waits for the
  /// server.
  public static let cancelledUpload = Self(
    "cancelledUpload", .confirmedCancellation,
    "An upload that is cancelled ends when its body is not read any more, and its connection is closed"
  ) { run in
    for otherLoads in [0, 20] {
      let (path, gate) = ("/held/\(otherLoads)", LoopbackGate())
      let upload = EndlessUpload()
      run.server.on(path, beginning: .headComplete, [.stopReading, .hold(gate)])
      let load = run.loader.load(try run.request(path, .put, body: upload.body))
      _ = try await gate.waitForHolders().value
      // Other loads give the transport time to fill the connection.
      for _ in 0..<otherLoads { try await run.expectUsable("during an upload") }

      load.cancel()

      await run.expectCancelled(load, "the upload after \(otherLoads) other loads")
      try await run.expectStopped(upload, path, gate)
    }
    try await run.expectUsable("after a cancelled upload")
  }

  /// For each byte of two responses, the server sends the bytes before it and waits. Each load is cancelled then, in turn with and
  /// without force.
  public static let cancelledAtEveryByte = Self(
    "cancelledAtEveryByte", .confirmedCancellation,
    "A load that is cancelled at any byte of its response ends when its connection is closed"
  ) { run in
    for framing in [Framing.length, .chunked] {
      for count in 0..<framing.size {
        let (path, gate) = ("/\(framing.name)/\(count)", LoopbackGate())
        run.server.on(path, [.send(framing.text(cutAt: count)), .hold(gate)])
        let load = try run.load(path)
        _ = try await gate.waitForHolders().value

        let isForced = !count.isMultiple(of: 2)
        load.cancel(isForced ? .forceImmediately : [])

        await run.expectCancelled(load, "after \(count) bytes of a response \(framing.name)")
        if isForced { _ = try await run.server.waitForClose(of: path).value } else { try await run.expectClosed(path) }
      }
    }
    try await run.expectUsable("after cancelled loads")
  }

  /// A cancellation request with `.forceImmediately`, before the head and in the body.
  public static let forced = Self(
    "forced", .confirmedCancellation, "A forced load completes during the call, and its connection is closed afterward"
  ) { run in
    for count in [0, Framing.length.headSize + 4] {
      let (path, gate) = ("/held/\(count)", LoopbackGate())
      run.server.on(path, [.send(Framing.length.text(cutAt: count)), .hold(gate)])
      let load = try run.load(path)
      _ = try await gate.waitForHolders().value

      load.cancel(.forceImmediately)

      run.expect(load.isCompleted, "the load is not completed after the call, \(count) bytes into the response")
      await run.expectCancelled(load, "the load")
      _ = try await run.server.waitForClose(of: path).value
    }
    try await run.expectUsable("after a forced load")
  }
}

extension CheckRun {
  /// Waits until the connection of each request to a path was closed by the transport.
  func waitUntilAbandoned(_ path: String) async throws {
    _ = try await server.waitUntil { record in
      record.connections.allSatisfy { !$0.paths.contains(path) || $0.wasAbandoned(while: path) }
    }.value
  }
}
