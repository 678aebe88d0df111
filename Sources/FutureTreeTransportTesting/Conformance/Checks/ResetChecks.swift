import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting

extension TransportConformance.Check {
  /// A reset with four loads in flight: before the head, in the body, in an upload, and forced to end before.
  public static let resetWaits = Self(
    "resetWaits", .reset, "A reset cancels the loads in flight, waits for them, and leaves the transport usable"
  ) { run in
    let (upload, gate) = (EndlessUpload(), LoopbackGate())
    for path in ["/stall", "/forced"] { run.server.on(path, .stall) }
    run.server.on("/body", [.send(Framing.length.half), .stall])
    run.server.on("/upload", beginning: .headComplete, [.stopReading, .hold(gate)])
    var loads = try ["/stall", "/body", "/forced"].map { try run.load($0) }
    loads.append(run.loader.load(try run.request("/upload", .put, body: upload.body)))
    _ = try await gate.waitForHolders().value
    _ = try await run.server.waitUntil { record in ["/stall", "/body", "/forced"].allSatisfy(record.hasRequest) }.value
    loads[2].cancel(.forceImmediately)

    try await run.loader.reset().value

    for load in loads {
      run.expect(load.isCompleted, "the reset ended before a load")
      await run.expectCancelled(load, "a load in flight")
    }
    for path in ["/stall", "/body", "/forced"] { try await run.expectClosed(path) }
    try await run.expectStopped(upload, "/upload", gate)
    try await run.expectUsable("after a reset")
  }

  /// Resets without a load in flight, and two at the same time.
  public static let resetTwice = Self(
    "resetTwice", .reset, "Resets that overlap and resets without a load complete"
  ) { run in
    try await run.loader.reset().value
    run.server.on("/stall", .stall)
    let load = try run.load("/stall")
    _ = try await run.server.waitForRequest(to: "/stall").value

    let resets = [run.loader.reset(), run.loader.reset()]

    for reset in resets { try await reset.value }
    await run.expectCancelled(load, "the load in flight")
    try await run.expectUsable("after two resets")
  }

  /// One request value, loaded twice. The first load is cancelled.
  public static let sameRequestTwice = Self(
    "sameRequestTwice", .oneExecution, "A request that is loaded twice is sent twice, and each load is cancelled alone"
  ) { run in
    let gate = LoopbackGate()
    run.server.on("/twice", .respond(body: "body").held(by: gate))
    let request = try run.request("/twice")
    let loads = [run.loader.load(request), run.loader.load(request)]
    _ = try await gate.waitForHolders(2).value

    loads[0].cancel()
    await run.expectCancelled(loads[0], "the first load")
    gate.open()

    await run.expectBody("body", of: loads[1], "the second load")
    run.expect(run.server.requestCount == 2, "the server received \(run.server.requestCount) requests")
  }

  /// 60 loads at the same time. The body of each response is the path of its request.
  public static let parallelLoads = Self(
    "parallelLoads", .oneExecution, "Each of many parallel loads receives its own response"
  ) { run in
    run.server.onOthers { .respond(body: $0.path) }
    let loads = try (0..<60).map { try run.load("/\($0)") }

    for (index, load) in loads.enumerated() { await run.expectBody("/\(index)", of: load, "load \(index)") }
  }
}
