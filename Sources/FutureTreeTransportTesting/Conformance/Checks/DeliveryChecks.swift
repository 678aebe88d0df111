import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting

extension TransportConformance.Check {
  static let delivery: [Self] = [
    requestTimeout, requestTimeoutInBody, idleTimeout, slowUpload, fileDelivered, fileCut, fileCancelled,
    fileCancelledAtEnd, progressReceived, progressSent, progressEnds,
  ]

  /// A server that does not answer, and `RequestTimeout`.
  public static let requestTimeout = Self(
    "requestTimeout", .injectedTime,
    "A load that exceeds its time limit before the head fails, and its connection is closed"
  ) { run in
    run.server.on("/stall", .stall)
    // A connection exists, so that the request arrives within its time limit.
    try await run.expectUsable("before a time limit")

    let load = try run.load("/stall") { $0.timeout = .milliseconds(100) }

    await run.expectFailure(of: load, .timedOut, name: "a server that does not answer")
    try await run.waitUntilAbandoned("/stall")
    try await run.expectUsable("after a time limit")
  }

  /// A server that sends one byte every two milliseconds, and `RequestTimeout`.
  public static let requestTimeoutInBody = Self(
    "requestTimeoutInBody", .injectedTime, "A load whose body arrives slowly fails at its time limit"
  ) { run in
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
    run.server.on("/slow", [.send(head), .drip(String(repeating: "x", count: 100_000), every: .milliseconds(2))])

    let load = try run.load("/slow") { $0.timeout = .milliseconds(100) }

    await run.expectFailure(of: load, .timedOut, name: "a slow body")
    try await run.waitUntilAbandoned("/slow")
  }

  /// A server that stops in the middle of a body, and `RequestIdleTimeout`.
  public static let idleTimeout = Self(
    "idleTimeout", .injectedTime,
    "A load that receives no bytes for its idle timeout fails, and its connection is closed"
  ) { run in
    run.server.on("/stall", [.send(Framing.length.half), .stall])

    let load = try run.load("/stall") { $0.idleTimeout = .milliseconds(100) }

    await run.expectFailure(of: load, .timedOut, name: "a body that stops")
    try await run.waitUntilAbandoned("/stall")
  }

  /// An upload of 32 MiB from memory to a server that reads 2 MiB at a time, with pauses of a fifth of `RequestIdleTimeout`. The
  /// buffers of the system hold only a part of the body, so each read lets the transport send more.
  ///
  /// If a busy machine stops the transport itself for half of the timeout, the upload is repeated with twice the timeout.
  public static let slowUpload = Self(
    "slowUpload", .injectedTime, "An upload that is sent slowly does not exceed its idle timeout"
  ) { run in
    let (size, part) = (32 << 20, 2 << 20)
    for attempt in 0..<4 {
      let (path, timeout, pauses) = ("/slow/\(attempt)", Duration.milliseconds(500 << attempt), Pauses())
      let reads = (1..<size / part).flatMap { _ in [LoopbackStep.pause(timeout / 5), .read(part)] }
      run.server.on(
        path, beginning: .headComplete, .steps([.stopReading] + reads + [.read(size), .respond(body: "received")]))
      var request = try run.request(path, .put, body: .data(Data(count: size)))
      request.idleTimeout = timeout
      pauses.observe(&request)

      let load = run.loader.load(request)
      let outcome = await load.observed().outcome
      if case .failure(let error as HTTPError) = outcome, error.code == .timedOut, pauses.longest() > timeout / 2 {
        continue
      }
      await run.expectBody("received", of: load, "a slow upload")
      let received = run.server.record.requests(to: path).first?.body.count ?? 0
      run.expect(received == size, "\(received >> 10) of \(size >> 10) KiB arrived")
      return
    }
    run.report("The machine was too busy, or the transport reports no progress of an upload.")
  }

  /// A body of 500,000 bytes, an empty body, and a response with 404.
  public static let fileDelivered = Self(
    "fileDelivered", .wholeBodies, "A body is in its file when the load completes, and an unsuccessful body is not"
  ) { run in
    let (folder, text) = (try CheckFolder(), String(repeating: "0123456789", count: 50_000))
    _ = try folder.write("old", to: "body")
    run.server.on("/body", .respond(body: text))
    run.server.on("/empty", .respond())
    run.server.on("/missing", .respond(status: 404, body: "missing"))

    for (name, size) in [("body", text.utf8.count), ("empty", 0)] {
      let outcome = await (try run.load("/" + name, to: folder.file(name))).outcome
      guard case .success(let response) = outcome, case .file(folder.file(name), size) = response.content else {
        run.report("\(name): expected \(size) bytes in a file, got \(CheckRun.text(outcome))")
        continue
      }
    }
    await run.expectBody("missing", of: try run.load("/missing", to: folder.file("missing")), "a 404")

    run.expect(folder.text(of: "body") == text, "the file does not have the bytes of the body")
    run.expect(folder.names == ["body", "empty"], "the files are \(folder.names)")
  }

  /// Bodies that are cut and that exceed their limit, next to an older file.
  public static let fileCut = Self(
    "fileCut", .wholeBodies, "A body that is cut or too large leaves no file, and an existing file is unchanged"
  ) { run in
    let folder = try CheckFolder()
    _ = try folder.write("old", to: "body")
    for framing in [Framing.length, .chunked] {
      run.answer("/\(framing.name)", framing.half)
      let load = try run.load("/\(framing.name)", to: folder.file("body"))
      await run.expectFailure(of: load, .truncatedBody, .connectionLost, name: framing.name)
    }
    run.server.on("/large", .respond(body: "0123456789A"))
    await run.expectFailure(
      of: try run.load("/large", to: folder.file("body"), maximumSize: 10), .bodyTooLarge, name: "a large body")

    run.expect(folder.text(of: "body") == "old", "the existing file was changed")
    run.expect(folder.names == ["body"], "the files are \(folder.names)")
  }

  /// A load to a file that is cancelled in its body, with and without force.
  public static let fileCancelled = Self("fileCancelled", .wholeBodies, "A cancelled load leaves no file") { run in
    let folder = try CheckFolder()
    for options in [CancellationOptions(), .forceImmediately] {
      let (path, gate) = ("/held/\(options.rawValue)", LoopbackGate())
      run.server.on(path, [.send(Framing.length.half), .hold(gate)])
      let load = try run.load(path, to: folder.file("body"))
      _ = try await gate.waitForHolders().value

      load.cancel(options)

      await run.expectCancelled(load, "the load")
      try await run.loader.reset().value
      run.expect(folder.names.isEmpty, "the files are \(folder.names)")
    }
  }

  /// 100 loads next to an older file, half of them downloads, which are cancelled when their last byte arrives.
  public static let fileCancelledAtEnd = Self(
    "fileCancelledAtEnd", .wholeBodies, "A load that is cancelled when its body is whole leaves the existing file"
  ) { run in
    let folder = try CheckFolder()
    for number in 0..<100 {
      let (path, gate) = ("/held/\(number)", LoopbackGate())
      run.server.on(path, .respond(body: "body").held(at: 3, by: gate))
      let file = try folder.write("old", to: "body")
      let cancelled = Locked<Future<HTTPResponse>?>(nil)
      let onProgress: @Sendable (HTTPProgress) -> Void = { progress in
        if progress.received.completed == 4 { cancelled.value?.cancel() }
      }
      let load =
        number.isMultiple(of: 2)
        ? run.loader.download(.url(try HTTPURL(run.server.url(path))), to: file, onProgress: onProgress)
        : try run.load(path) {
          $0.delivery = .file(file)
          $0.progress = onProgress
        }
      cancelled.value = load
      gate.open()

      let outcome = await load.outcome

      cancelled.value = nil
      let expected = outcome.ending == .cancelled ? "old" : "body"
      run.expect(folder.text(of: "body") == expected, "a load with \(CheckRun.text(outcome)) left another file")
      try await run.loader.reset().value
      run.expect(folder.names == ["body"], "the files are \(folder.names)")
    }
  }

  /// A body of 1 MB with a length, and a body in chunks.
  public static let progressReceived = Self(
    "progressReceived", .nothingAfterCompletion, "Received bytes are reported in order, from the head to the whole body"
  ) { run in
    let text = String(repeating: "x", count: 1_000_000)
    run.server.on("/length", .respond(body: text))
    run.server.on("/chunked", .stream([text]))
    for (path, total) in [("/length", 1_000_000), ("/chunked", nil)] {
      let reports = Reports()
      await run.expectBody(text, of: try run.load(path, reports), path)
      let parts = reports.all.value.map(\.received)
      run.expect(parts.map(\.completed) == parts.map(\.completed).sorted(), "\(path): the reports are not in order")
      run.expect(parts.last?.completed == 1_000_000, "\(path): the last report is \(parts.last?.completed ?? -1) bytes")
      run.expect(parts.first?.completed == 0, "\(path): the first report is not the one of the head")
      run.expect(parts.first?.total == total && parts.last?.total == total, "\(path): the total is wrong")
    }
  }

  /// Uploads of 1 MB with a known and an unknown length.
  public static let progressSent = Self(
    "progressSent", .nothingAfterCompletion, "Sent bytes are reported in order, up to the whole body"
  ) { run in
    run.server.on("/upload", .respond())
    for length in [1_000_000, nil] {
      let reports = Reports()
      var request = try run.request("/upload", .put, body: CheckRun.body(of: 1_000_000, length: length))
      reports.observe(&request)
      await run.expectBody("", of: run.loader.load(request), "an upload")
      let parts = reports.all.value.map(\.sent)
      run.expect(parts.map(\.completed) == parts.map(\.completed).sorted(), "the reports are not in order")
      run.expect(parts.last?.completed == 1_000_000, "the last report is \(parts.last?.completed ?? -1) bytes")
      run.expect(parts.last?.total == length, "the total is wrong")
    }
  }

  /// A slow body whose load is cancelled.
  public static let progressEnds = Self(
    "progressEnds", .nothingAfterCompletion, "No progress is reported after a load has completed"
  ) { run in
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
    run.server.on("/slow", [.send(head), .drip(String(repeating: "x", count: 100_000), every: .milliseconds(1))])
    let reports = Reports()
    let load = try run.load("/slow", reports)
    reports.load.value = load
    _ = await reports.begun.future.outcome

    load.cancel()
    await run.expectCancelled(load, "the load")

    try await run.loader.reset().value
    for _ in 0..<10 { try await run.expectUsable("after a cancelled load") }
    run.expect(reports.lateCount.value == 0, "\(reports.lateCount.value) reports came after the completion")
  }
}

/// The reports of a `ProgressHandler`.
private final class Reports: Sendable {
  let all = Locked<[HTTPProgress]>([])
  /// Completes when bytes have been received.
  let begun = Promise<Void>()
  let load = Locked<Future<HTTPResponse>?>(nil)
  /// The number of reports that came when the load had completed.
  let lateCount = Locked(0)

  func observe(_ request: inout HTTPRequest) {
    request.progress = { progress in
      if self.load.value?.isCompleted == true { self.lateCount.withLock { $0 += 1 } }
      self.all.withLock { $0.append(progress) }
      if progress.received.completed > 0 { self.begun.succeed() }
    }
  }
}

extension CheckRun {
  fileprivate func load(_ path: String, to file: URL, maximumSize: Int? = nil) throws -> Future<HTTPResponse> {
    try load(path) { $0.delivery = .file(file, maximumSize: maximumSize) }
  }

  fileprivate func load(_ path: String, _ reports: Reports) throws -> Future<HTTPResponse> {
    try load(path) { reports.observe(&$0) }
  }
}

/// The time between the reports of progress of a load.
private final class Pauses: Sendable {
  private let times = Locked((last: SystemClock().now, longest: Duration.zero))

  func observe(_ request: inout HTTPRequest) {
    request.progress = { [self] _ in _ = longest() }
  }

  /// Returns the longest time between two reports, or since the last one.
  func longest() -> Duration {
    let now = SystemClock().now
    return times.withLock { times in
      times.longest = max(times.longest, now - times.last)
      times.last = now
      return times.longest
    }
  }
}
