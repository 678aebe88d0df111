import Foundation
import FutureTree
import FutureTreeHTTPStore
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

/// Each layer, and all of them, with a stream that is held at each position and ends in each way.
@Suite("Streams through layers") struct StreamChainTests {
  enum Position: CaseIterable {
    case beforeHead, afterHead, middle, beforeLastChunk
  }

  enum Ending: CaseIterable {
    case whole, closedByServer, cancelled, doNotForward, othersWaiting, forced, dropped, left, taskCancelled, unread
    case reset, resetByTransport, deadline, idle
  }

  @Test("Every ending at every position ends once, and leaves nothing", arguments: StreamChain.names, Ending.allCases)
  func endings(layer: String, ending: Ending) async throws {
    for position in Position.allCases {
      let run = try StreamChainRun(layer)
      await run.go(to: position)
      await run.end(ending, at: position)
      #expect(run.faults(after: ending, at: position).isEmpty, "\(position)")
    }
  }

  @Test("The slot of a stream is held until its transfer has completed")
  func slot() async throws {
    let run = try StreamChainRun("Throttle")
    await run.go(to: .middle)
    expectEqual(run.chain.throttle.runningCount, 1)

    await run.end(.whole, at: .middle)
    expectEqual(run.chain.throttle.runningCount, 0)
  }

  @Test("A cancellation request to the load is too late after the head, and one to its task is not")
  func tooLate() async throws {
    let run = try StreamChainRun("all")
    await run.go(to: .middle)

    expectEqual(run.task.future.cancel().effect, .tooLate(.succeeded))
    expectEqual(run.transport.stopCount, 0)
    expectEqual(run.task.cancel().effect, .delivered)
    expectEqual(run.transport.stopCount, 1)
    run.transport.close()
  }

  @Test("A reset does not end while the transfer of a stream is in flight")
  func reset() {
    let transport = StreamTransport(clock: ManualClock())
    let api = ResetGuard() --> ResetsAtOnce(transport: transport)
    let load = api.stream { anyRequest() }
    transport.sendHead()

    let reset = api.reset()
    expectEqual(load.status, "200")
    #expect(!reset.isCompleted)
    transport.finish()
    transport.release()
    #expect(reset.isCompleted)
    withExtendedLifetime(load) {}
  }

  /// A transport whose reset waits for nothing.
  private struct ResetsAtOnce: HTTPLoader {
    let transport: StreamTransport

    func load(_ request: HTTPRequest) -> Future<HTTPResponse> { transport.load(request) }

    func reset() -> Future<Void> { .succeeded }
  }

  @Test("The limits of an attempt and of the first byte end at the head")
  func limits() {
    let clock = ManualClock()
    let transport = StreamTransport(clock: clock)
    let timeout = Timeout(attempt: .seconds(10), firstByte: .seconds(5), clock: clock)
    let load = (timeout --> transport).stream { anyRequest() }
    transport.sendHead()
    clock.advance(by: .seconds(20))

    expectEqual(load.status, "200")
    expectEqual(transport.stopCount, 0)
    transport.finish()
    transport.release()
    withExtendedLifetime(load) {}
    expectEqual(clock.timerCount, 0)
  }

  @Test("The lines of the log have the end of the transfer")
  func log() async throws {
    for (ending, line) in [
      (Ending.whole, "[1] GET http://example.com/feed: 200 in 0.0 ms, 2 bytes"),
      (.closedByServer, "[1] GET http://example.com/feed: 200, then failed after 0.0 ms and 2 bytes: connectionLost"),
    ] {
      let run = try StreamChainRun("Log")
      await run.go(to: .middle)
      expectEqual(run.chain.lines.entries.count, 1)
      await run.end(ending, at: .middle)
      expectEqual(run.chain.lines.entries.last, line)
    }
  }

  @Test("Streams of identical requests are not shared")
  func notShared() throws {
    let chain = try StreamChain("Coalesce")
    var request = anyRequest()
    request.delivery = .stream()
    let load = chain.api.load(request)

    expectEqual(chain.transport.liveCount, 1)
    expectEqual(chain.coalesce.flightCount, 0)
    load.cancel()
    chain.transport.close()
  }

  @Test("A retry closes the stream of the response that it discards")
  func retried() async throws {
    let clock = ManualClock()
    let transport = StreamTransport(clock: clock)
    let strategy = RetryStrategy { $0.attempt == 1 ? .seconds(1) : nil }
    let load = (Retry(strategy, clock: clock) --> transport).stream { anyRequest() }
    transport.sendHead()
    expectEqual(transport.stopCount, 1)
    transport.close()

    clock.advance(by: .seconds(1))
    transport.sendHead()
    expectEqual(load.status, "200")
  }
}

/// The layers under test before a transport.
struct StreamChain {
  let clock = ManualClock()
  let transport: StreamTransport
  let throttle: Throttle
  let coalesce = Coalesce()
  let resume: Resume
  let retry: Retry
  let lines = Recorder()
  let measurements = Locked<[HTTPMeasurement]>([])
  let api: any HTTPLoader

  static let names = [
    "none", "ResetGuard", "Autocancel", "Log", "RequestMetrics", "Coalesce", "Resume", "Retry", "Throttle", "Timeout",
    "Redirect", "Route", "all",
  ]

  init(_ name: String) throws {
    transport = StreamTransport(clock: clock)
    throttle = Throttle(4, clock: clock)
    resume = Resume(clock: clock)
    retry = Retry(attempts: 1, clock: clock)
    let (lines, measurements) = (lines, measurements)
    let layers: [String: any HTTPLayer] = [
      "ResetGuard": ResetGuard(), "Autocancel": Autocancel(drainTimeout: nil, clock: clock),
      "Log": Log({ lines($0) }, clock: clock),
      "RequestMetrics": RequestMetrics(clock: clock) { new in measurements.withLock { $0.append(new) } },
      "Coalesce": coalesce, "Resume": resume, "Retry": retry, "Throttle": throttle,
      "Timeout": Timeout(
        total: .seconds(3600), attempt: .seconds(600), firstByte: .seconds(600), idle: .seconds(30), clock: clock),
      "Redirect": Redirect(), "Route": Route(.when({ _ in true }, ModifyRequest { _ in })),
    ]
    let used = StreamChain.names.filter { name == "all" || $0 == name }
    api = used.reversed().reduce(transport as any HTTPLoader) { next, name in
      layers[name].map { chain($0, before: next) } ?? next
    }
  }
}

/// One stream through a chain.
final class StreamChainRun: @unchecked Sendable {  // Because: a test runs it in one task.
  let chain: StreamChain
  private let layer: String
  private(set) var task: HTTPTask!
  private var transfer: Future<Void>?
  private var reading: Task<String, any Error>?
  private let ends = Locked(0)
  private var stopCount = 0

  var transport: StreamTransport { chain.transport }

  init(_ layer: String) throws {
    self.layer = layer
    chain = try StreamChain(layer)
    var request = try HTTPRequest("http://example.com/feed")
    request.delivery = .stream()
    task = chain.api.task(for: request)
    task.start()
  }

  private var response: HTTPResponse? {
    if case .success(let response)? = task.future.outcomeIfCompleted { response } else { nil }
  }

  func go(to position: StreamChainTests.Position) async {
    guard position != .beforeHead else { return }
    transport.sendHead()
    await settle()
    transfer = response?.transfer
    transfer?.observe { [ends] _ in ends.withLock { $0 += 1 } }
    guard position != .afterHead else { return }
    transport.send("a")
    transport.send("b")
    await settle()
    guard position != .middle else { return }
    await startReading()
    transport.send("c")
    await settle()
    while !isAwaited { await Task.yield() }
  }

  /// Waits until a layer that reads the stream has passed all bytes on.
  private func settle() async {
    guard layer == "Resume" || layer == "all" else { return }
    while !transport.isAwaited { await Task.yield() }
  }

  /// Whether the caller waits for bytes.
  private var isAwaited: Bool { response?.stream?.pipe?.isAwaited == true }

  private func startReading() async {
    guard let stream = response?.bodyStream, reading == nil else { return }
    reading = Task {
      var text = ""
      for try await chunk in stream { text += String(decoding: chunk, as: UTF8.self) }
      return text
    }
    while !isAwaited { await Task.yield() }
  }

  /// Cancels the reading task. The reader has left when the task ends.
  private func cancelReading() async {
    reading?.cancel()
    _ = await reading?.result
  }

  /// Ends the stream, and confirms as a transport does.
  func end(_ ending: StreamChainTests.Ending, at position: StreamChainTests.Position) async {
    var resets: [Future<Void>] = []
    switch ending {
    case .whole:
      transport.sendHead(before: position)
      transport.finish()
    case .closedByServer: break
    case .cancelled: task.cancel()
    case .doNotForward: task.cancel(.doNotForwardRequest)
    case .othersWaiting: task.cancel(.doNotForwardIfOthersWaiting)
    case .forced: task.cancel(.forceImmediately)
    case .dropped: task = nil
    case .left:
      if let stream = response?.bodyStream { _ = stream.makeAsyncIterator() }
      await cancelReading()
    case .taskCancelled:
      await startReading()
      await cancelReading()
    case .unread: chain.clock.advance(by: .seconds(60))
    case .reset: resets = [chain.api.reset()]
    case .resetByTransport: resets = [transport.reset()]
    case .deadline: chain.clock.advance(by: .seconds(3600))
    case .idle:
      await startReading()
      chain.clock.advance(by: .seconds(30))
    }
    stopCount = transport.stopCount
    transport.close()
    transport.release()
    for reset in resets { _ = await reset.outcome }
    _ = try? await reading?.value
    while chain.resume.liveCount > 0 { await Task.yield() }
    task = nil
  }

  /// What is left, and what happened more or less than once.
  func faults(after ending: StreamChainTests.Ending, at position: StreamChainTests.Position) -> [String] {
    var faults: [String] = []
    let counts = [
      ("running", chain.throttle.runningCount), ("waiting", chain.throttle.waitingCount),
      ("flights", chain.coalesce.flightCount), ("back-offs", chain.retry.waitingCount),
      ("timers", chain.clock.timerCount), ("loads", transport.liveCount),
    ]
    faults += counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }
    if !chain.retry.isIdle { faults.append("Retry is busy") }
    if transfer != nil, ends.value != 1 { faults.append("\(ends.value) ends of the transfer") }
    let stops = expectedStops(of: ending, at: position)
    if stopCount != stops { faults.append("\(stopCount) stops instead of \(stops)") }
    let usesLog = layer == "Log" || layer == "all"
    if usesLog, chain.lines.entries.count != 2 { faults.append("\(chain.lines.entries.count) log lines") }
    let usesMetrics = layer == "RequestMetrics" || layer == "all"
    let phases = chain.measurements.value.map(\.phase)
    if usesMetrics, phases != [.started, .ended] { faults.append("\(phases)") }
    if !isUsable { faults.append("the chain is not usable") }
    return faults
  }

  /// How often the transport is asked to stop before it closes.
  private func expectedStops(of ending: StreamChainTests.Ending, at position: StreamChainTests.Position) -> Int {
    let isTimed = layer == "Timeout" || layer == "all"
    let isUnread = position == .afterHead || position == .middle
    let stops =
      switch ending {
      case .whole, .closedByServer: false
      case .cancelled, .forced, .reset, .resetByTransport: true
      // Before the head, the derived futures of the loads detach. After it, the transfer is a source.
      case .doNotForward: position != .beforeHead
      // The reader is another consumer of the transfer.
      case .othersWaiting: position == .beforeHead
      // A reader that waits keeps its stream.
      case .dropped: isUnread
      case .left, .taskCancelled: position != .beforeHead
      case .unread, .deadline: isTimed || isUnread
      case .idle: isTimed
      }
    return stops ? 1 : 0
  }

  private var isUsable: Bool {
    guard chain.api.reset().text == "success" else { return false }
    let load = chain.api.load(anyRequest())
    let isInFlight = transport.liveCount == 1
    transport.close()
    return isInFlight && load.isCompleted
  }
}

extension StreamTransport {
  /// Sends the head, if the position is before it.
  fileprivate func sendHead(before position: StreamChainTests.Position) {
    if position == .beforeHead { sendHead() }
  }
}
