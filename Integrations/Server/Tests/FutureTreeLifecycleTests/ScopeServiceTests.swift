import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeLifecycle
import FutureTreeTesting
import Logging
import NIOConcurrencyHelpers
import ServerTestSupport
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

@Suite("The service of a scope") struct ScopeServiceTests {
  private let clock = ManualClock()
  private let scope = CancelScope("work")
  private let reports = Reports()
  private let source = Promise<String>()

  private var service: ScopeService {
    ScopeService(scope, drain: .seconds(20), force: .seconds(5), clock: clock) { [reports] in reports.append($0) }
  }

  @Test("Work that completes in the drain is not cancelled, and the service ends then")
  func drains() throws {
    let work = scope.run { source.future }
    let ended = service.shutDown()
    #expect(!ended.isCompleted && clock.nextDeadline == .seconds(20))

    clock.advance(by: .seconds(3))
    source.succeed("done")

    #expect(work.outcomeIfCompleted?.ending == .succeeded && work.cancelRequest == nil)
    let report = try #require(reports.only)
    #expect(report.inFlight.count == 1 && report.cancelled == [] && report.grace == nil && !report.wasForced)
    #expect(report.drainedCount == 1 && report.duration == .seconds(3))
    #expect(ended.isCompleted && clock.timerCount == 0)
    #expect("\(report)" == "1 of 1 in flight completed")
  }

  @Test("Without work in flight, the shutdown ends at once")
  func nothingInFlight() {
    let ended = service.shutDown()

    #expect(ended.isCompleted && reports.only?.inFlight == [] && clock.timerCount == 0)
  }

  @Test("After the drain, the rest is asked to cancel for a shutdown, at the line of the service")
  func cancels() throws {
    let quick = Promise<Void>()
    scope.run { quick.future }
    let upload = scope.run { source.future.named("upload") }
    source.onRequestCancel { _ in .complete(.cancelled) }
    service.shutDown()

    clock.advance(by: .seconds(19))
    quick.succeed()
    #expect(!upload.isCompleted)
    clock.advance(by: .seconds(1))

    #expect(upload.outcomeIfCompleted?.ending == .cancelled)
    let received = try #require(upload.cancelRequest?.reason)
    #expect(received.kind == .shutdown && received.fileID == "FutureTreeLifecycleTests/ScopeServiceTests.swift")
    let report = try #require(reports.only)
    #expect(report.inFlight.count == 2 && report.cancelled == ["upload"] && report.drainedCount == 1)
    #expect(!report.wasForced && clock.timerCount == 0)
    #expect("\(report)".hasPrefix("1 of 2 in flight completed; asked to cancel: upload (delivered to 1 handler"))
  }

  @Test("Work that ignores the request is forced after the second time, and the report names its source")
  func forces() throws {
    source.onRequestCancel { _ in .continue }
    let work = scope.run { source.future.named("stuck").map { $0 }.named("job") }
    service.shutDown()

    clock.advance(by: .seconds(20))
    #expect(work.cancelRequest?.reason.kind == .shutdown && !work.isCompleted)
    clock.advance(by: .seconds(4))
    #expect(reports.all.isEmpty)
    clock.advance(by: .seconds(1))

    #expect(work.outcomeIfCompleted?.ending == .cancelled)
    let report = try #require(reports.only)
    #expect(report.wasForced && report.grace?.pending == ["stuck"] && report.cancelled == ["job"])
    #expect(report.duration == .seconds(25))
  }

  @Test("Without limits, the shutdown waits, and never forces")
  func noLimits() {
    scope.run { source.future }
    let service = ScopeService(scope, drain: nil, force: nil, clock: clock) { [reports] in reports.append($0) }
    service.shutDown()
    #expect(clock.timerCount == 0)

    service.shutDownNow()
    #expect(clock.timerCount == 0 && scope.future.cancelRequest?.reason.kind == .shutdown && reports.all.isEmpty)
    source.completeCancelled("done")

    #expect(reports.only?.wasForced == false)
  }

  @Test("From the beginning of the shutdown, new work is refused, also after the request")
  func refuses() {
    scope.run { source.future }
    service.shutDown()

    let refused = scope.run { () -> Future<Int> in
      Issue.record("The body was called.")
      return .succeeded(1)
    }
    #expect(!scope.add(Promise<Int>().future))
    #expect(throws: ScopeEnded.self) { try refused.outcomeIfCompleted?.get() }

    clock.advance(by: .seconds(20))
    #expect(!scope.add(Promise<Int>().future))
  }

  @Test("Later shutdowns join the first one, and cancelling their futures only ends the wait")
  func joins() {
    scope.run { source.future }
    let service = service
    service.shutDown().cancel(.forceImmediately)
    let second = service.shutDown()
    #expect(!second.isCompleted && reports.all.isEmpty && scope.future.cancelRequest == nil && clock.timerCount == 1)

    source.succeed("done")

    #expect(second.isCompleted && reports.all.count == 1)
  }

  @Test("Undos run after the work, before the report, and are not forced")
  func undos() {
    let undo = Promise<Void>()
    scope.undo(of: .succeeded(1)) { _ in undo.future }
    scope.run { source.future }
    service.shutDown()

    clock.advance(by: .seconds(25))
    #expect(source.future.isCompleted && reports.all.isEmpty && undo.cancelRequest == nil)
    undo.succeed()

    #expect(scope.undoneCount == 1 && reports.only?.wasForced == true)
  }

  @Test("Shared work in which others have interest continues, and the report says that it is left")
  func sharedWork() {
    let work = scope.run { source.future.shared() }
    let token = work.cancelToken()
    service.shutDown()

    clock.advance(by: .seconds(25))

    #expect(!work.isCompleted && reports.only?.grace?.ending == nil && reports.only?.wasForced == true)
    withExtendedLifetime(token) {}
  }

  @Test("Queued work begins in the drain, and leaves the queue at the request")
  func queue() {
    let queue = FutureQueue()
    let (first, second) = (Promise<Int>(), Promise<Int>())
    scope.run { queue.add { first.future } }
    scope.run { queue.add { second.future } }
    let third = scope.run { queue.add { Future.succeeded(3) } }
    service.shutDown()

    first.succeed(1)
    #expect(queue.runningCount == 1 && queue.waitingCount == 1)
    second.onRequestCancel { _ in .continue }
    clock.advance(by: .seconds(20))

    #expect(third.outcomeIfCompleted?.ending == .cancelled && queue.waitingCount == 0 && reports.all.isEmpty)
    second.succeed(2)
    #expect(reports.only?.cancelled.count == 2 && reports.only?.wasForced == false)
  }
}

@Suite("The service of a scope in a group", .timeLimit(.minutes(20))) struct ScopeServiceRunTests {
  private let clock = ReportingClock()
  private let scope = CancelScope("work")
  private let reports = Reports()
  private let source = Promise<String>()

  private var service: ScopeService {
    ScopeService(scope, drain: .seconds(20), force: .seconds(5), clock: clock) { [reports] in reports.append($0) }
  }

  @Test("A graceful shutdown of the group drains, cancels and ends the service")
  func group() async throws {
    source.onRequestCancel { _ in .complete(.cancelled) }
    let work = scope.run { source.future }
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let group = ServiceGroup(services: [service], logger: logger)

    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask { try await group.run() }
      await group.triggerGracefulShutdown()
      try await clock.timers(1).value
      #expect(scope.isEnded && work.cancelRequest == nil)
      clock.manual.advance(by: .seconds(20))
      try await tasks.waitForAll()
    }

    #expect(work.cancelRequest?.reason.kind == .shutdown && reports.only?.cancelled.count == 1)
  }

  @Test("The service runs until the shutdown, even if its scope has ended")
  func runsUntilShutdown() async throws {
    scope.end()
    try await testGracefulShutdown { trigger in
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { [service] in try await service.run() }
        #expect(reports.all.isEmpty)
        trigger.triggerGracefulShutdown()
        try await tasks.waitForAll()
      }
    }
    #expect(reports.only?.inFlight == [])
  }

  @Test("If the task is cancelled, the work is asked to cancel at once, and the service waits for the report")
  func cancelledTask() async throws {
    let work = scope.run { source.future }
    source.onRequestCancel { _ in .continue }
    let task = Task { [service] in try await service.run() }

    task.cancel()
    try await clock.timers(2).value  // The second one is that of the force.
    #expect(work.cancelRequest?.reason.kind == .shutdown && reports.all.isEmpty && clock.manual.timerCount == 1)
    clock.manual.advance(by: .seconds(5))
    try await task.value

    #expect(reports.only?.wasForced == true)
  }

  @Test("If the task is cancelled in the drain, the drain ends")
  func cancelledInDrain() async throws {
    source.onRequestCancel { _ in .complete(.cancelled) }
    let work = scope.run { source.future }
    let service = service
    try await testGracefulShutdown { trigger in
      trigger.triggerGracefulShutdown()
      let task = Task { try await service.run() }
      try await clock.timers(1).value
      #expect(work.cancelRequest == nil)

      task.cancel()
      try await task.value
    }
    #expect(work.cancelRequest?.reason.kind == .shutdown && reports.only?.cancelled.count == 1)
  }
}

@Suite("Loads in a scope") struct RunInScopeTests {
  private let clock = ManualClock()
  private let scope = CancelScope("work")
  private let mock = MockLoader()
  private let reports = Reports()

  private var service: ScopeService {
    ScopeService(scope, clock: clock) { [reports] in reports.append($0) }
  }

  private func load() throws -> Future<HTTPResponse> {
    (RunInScope(scope) --> mock).load(try HTTPRequest("http://backend/users?token=secret"))
  }

  @Test("A load in flight completes in the drain, and later loads are not forwarded")
  func drains() throws {
    let held = mock.hold()
    let load = try load()
    service.shutDown()

    let refused = try self.load()
    #expect(refused.outcomeIfCompleted?.ending == .failed && mock.requests.count == 1)
    held.answer()

    #expect(load.outcomeIfCompleted?.ending == .succeeded)
    #expect(reports.only?.inFlight == ["GET http://backend/users?…"])
    #expect(reports.only?.drainedCount == 1)
  }

  @Test("After the drain, a load receives the request of the shutdown")
  func cancels() throws {
    let held = mock.hold()
    let load = try load()
    service.shutDown()

    clock.advance(by: .seconds(20))
    #expect(held.cancelRequest?.reason.kind == .shutdown)
    held.complete(.cancelled)

    #expect(load.outcomeIfCompleted?.ending == .cancelled && reports.only?.wasForced == false)
  }

  @Test("The scope waits for a load whose caller has forced it")
  func forcedByCaller() throws {
    let held = mock.hold()
    try load().cancel(.forceImmediately)
    let ended = service.shutDown()
    #expect(!ended.isCompleted)

    held.complete(.cancelled)

    #expect(ended.isCompleted && reports.only?.drainedCount == 1)
  }

  @Test("A load belongs to the scope until its transfer has completed")
  func transfer() throws {
    let feed = mock.stream(whenCancelled: .complete)
    let response = try #require(try (RunInScope(scope) --> mock).load(streaming()).outcomeIfCompleted?.get())
    let ended = service.shutDown()
    #expect(!ended.isCompleted)

    clock.advance(by: .seconds(20))

    #expect(response.transfer.cancelRequest?.reason.kind == .shutdown)
    #expect(ended.isCompleted && reports.only?.cancelled.count == 1)
    withExtendedLifetime(feed) {}
  }

  @Test("A stream that arrives after the request receives it too")
  func lateStream() throws {
    let promise = Promise<HTTPResponse>()
    promise.onRequestCancel { _ in .continue }
    let chain = RunInScope(scope) --> AnyLoader(promise.future)
    let load = chain.load(try streaming())
    let feed = mock.stream(whenCancelled: .complete)
    let response = try #require(try mock.load(streaming()).outcomeIfCompleted?.get())
    service.shutDownNow()

    promise.succeed(response)

    #expect(load.outcomeIfCompleted?.ending == .succeeded)
    #expect(response.transfer.cancelRequest?.reason.kind == .shutdown)
    withExtendedLifetime(feed) {}
  }

  private func streaming() throws -> HTTPRequest {
    var request = try HTTPRequest("http://backend/feed")
    request.delivery = .stream()
    return request
  }
}

private struct AnyLoader: HTTPLoader {
  let future: Future<HTTPResponse>

  init(_ future: Future<HTTPResponse>) {
    self.future = future
  }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> { future }
  func reset() -> Future<Void> { .succeeded }
}

/// The reports of a service.
private final class Reports: Sendable {
  private let reports = NIOLockedValueBox<[ShutdownReport]>([])

  var all: [ShutdownReport] { reports.withLockedValue { $0 } }
  /// The report, if there is exactly one.
  var only: ShutdownReport? { all.count == 1 ? all[0] : nil }

  func append(_ report: ShutdownReport) { reports.withLockedValue { $0.append(report) } }
}
