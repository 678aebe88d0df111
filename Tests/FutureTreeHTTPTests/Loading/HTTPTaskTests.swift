import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("HTTPTask") struct HTTPTaskTests {
  private let mock = MockLoader()
  private let request: HTTPRequest

  init() throws {
    request = try HTTPRequest("http://example.com/feed?token=\(sentinel)")
  }

  private func reason(of outcome: Outcome<HTTPResponse>?) -> CancellationReason? {
    if case .cancelled(let reason) = outcome { reason } else { nil }
  }

  // MARK: - Starting

  @Test("A task loads nothing before its start, and once after it")
  func start() {
    mock.answer()
    let task = mock.task(for: request)
    #expect(mock.requests.isEmpty && !task.isStarted)

    let futures = [task.start(), task.start()]

    expectEqual(mock.requests.count, 1)
    #expect(task.isStarted)
    expectEqual(futures, [task.future, task.future])
    expectEqual(task.future.outcomeIfCompleted?.ending, .succeeded)
  }

  @Test("Two tasks of one request are two executions")
  func twoExecutions() {
    let held = [mock.hold(), mock.hold()]
    let tasks = [mock.task(for: request), mock.task(for: request)]
    for task in tasks { task.start() }

    tasks[0].cancel()
    held[0].complete(.cancelled)
    held[1].answer()

    #expect(tasks[0].id != tasks[1].id)
    expectEqual(tasks.map { $0.future.outcomeIfCompleted?.ending }, [.cancelled, .succeeded])
  }

  @Test("A task that is dropped before its start breaks its promise, and names its source line")
  func dropped() throws {
    let line: UInt = #line + 1
    var task: HTTPTask? = mock.task(for: request)
    let future = try #require(task).future

    task = nil

    guard case .failure(let error as BrokenPromise)? = future.outcomeIfCompleted else {
      Issue.record("The promise is not broken.")
      return
    }
    #expect((error.fileID, error.line) == ("FutureTreeHTTPTests/HTTPTaskTests.swift", line))
  }

  @Test("A task that is dropped after its start continues")
  func droppedAfterStart() {
    let held = mock.hold()
    let future = mock.task(for: request).start()

    held.answer()

    expectEqual(future.outcomeIfCompleted?.ending, .succeeded)
  }

  @Test("A started task does not retain its loader")
  func releases() {
    weak var loader: MockLoader?
    let task: HTTPTask
    do {
      let mock = MockLoader()
      loader = mock
      mock.answer()
      task = mock.task(for: request)
    }
    #expect(loader != nil)

    task.start()

    #expect(loader == nil)
    expectEqual(task.future.outcomeIfCompleted?.ending, .succeeded)
  }

  // MARK: - Cancelling before the start

  static let options: [CancellationOptions] = [
    [], .doNotForwardIfOthersWaiting, .doNotForwardRequest, .forceImmediately,
  ]

  @Test("A task that is cancelled before its start completes once, and its start does nothing", arguments: options)
  func cancelBeforeStart(options: CancellationOptions) {
    let task = mock.task(for: request)
    let endings = Locked<[Ending]>([])
    task.future.observe { outcome in endings.withLock { $0.append(outcome.ending) } }

    let receipt = task.cancel(options, reason: "never mind")
    expectEqual(endings.value, [.cancelled])
    task.start()

    expectEqual(receipt.effect, options == .forceImmediately ? .completed : .delivered)
    expectEqual(endings.value, [.cancelled])
    expectEqual(reason(of: task.future.outcomeIfCompleted)?.message, "never mind")
    #expect(mock.requests.isEmpty)
  }

  @Test("A cancellation request withheld before the start is forwarded when the last consumer withdraws")
  func withheldBeforeStart() {
    let held = mock.hold()
    let task = mock.task(for: request)
    let consumer = task.future.map { $0.status }

    let receipt = task.cancel(.doNotForwardIfOthersWaiting, reason: "not I")
    task.start()
    expectEqual(receipt.effect, .withheld(by: 1))
    expectEqual(mock.requests.count, 1)
    #expect(held.cancelRequest == nil)
    consumer.cancel(.doNotForwardIfOthersWaiting, reason: "nor I")

    expectEqual(held.cancelRequest?.reason.message, "not I")
    held.complete(.cancelled)
    expectEqual(task.future.outcomeIfCompleted?.ending, .cancelled)
  }

  @Test("A cancellation token reaches a task before and after its start", arguments: [true, false])
  func token(isStarted: Bool) {
    let held = mock.hold()
    let task = mock.task(for: request)
    let source = CancellationTokenSource()
    task.future.cancel(when: source.token)
    if isStarted { task.start() }

    source.cancel(reason: "all of it")
    held.complete(.cancelled)

    expectEqual(reason(of: task.future.outcomeIfCompleted)?.message, "all of it")
    expectEqual((held.cancelRequest != nil), isStarted)
  }

  // MARK: - Cancelling while it starts

  /// Cancels a task from inside `load`.
  private struct Cancelling: HTTPLayer {
    let options: CancellationOptions
    let task: Locked<HTTPTask?>

    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      let future = next.load(request)
      task.value?.cancel(options, reason: "in between")
      return future
    }
  }

  @Test("A cancellation request during the start reaches the load, unless it is not forwarded", arguments: options)
  func cancelWhileStarting(options: CancellationOptions) throws {
    let held = mock.hold()
    let box = Locked<HTTPTask?>(nil)
    let task = (Cancelling(options: options, task: box) --> mock).task(for: request)
    box.value = task

    task.start()
    box.value = nil

    if options == .doNotForwardRequest {
      #expect(held.cancelRequest == nil)
    } else {
      let received = try #require(held.cancelRequest)
      expectEqual(received.options, options.subtracting(.forceImmediately))
      expectEqual(received.reason.message, "in between")
    }
    expectEqual(task.future.isCompleted, (options == .forceImmediately || options == .doNotForwardRequest))
    held.complete(.cancelled)
    expectEqual(task.future.outcomeIfCompleted?.ending, .cancelled)
  }

  // MARK: - Cancelling after the start

  @Test("A cancellation request after the start reaches the load, and the task waits for the outcome")
  func cancelAfterStart() {
    let held = mock.hold()
    let task = mock.task(for: request)
    task.start()

    let receipt = task.cancel(.doNotForwardIfOthersWaiting, reason: "enough")

    #expect((receipt.effect, receipt.reached) == (.delivered, 2))
    expectEqual(held.cancelRequest?.options, .doNotForwardIfOthersWaiting)
    expectEqual(held.cancelRequest?.reason.fileID, "FutureTreeHTTPTests/HTTPTaskTests.swift")
    #expect(!task.future.isCompleted)
    held.answer()
    expectEqual(task.future.outcomeIfCompleted?.ending, .succeeded)
    expectEqual(task.cancel().effect, .tooLate(.succeeded))
  }

  @Test("A forced task ends at once, and the load is cancelled without force")
  func forceAfterStart() {
    let held = mock.hold()
    let task = mock.task(for: request)
    task.start()

    expectEqual(task.cancel(.forceImmediately).effect, .completed)

    #expect(task.future.isCompleted)
    expectEqual(held.cancelRequest?.options, [])
    held.complete(.cancelled)
  }

  @Test("A start that races a cancellation request ends cancelled", .timeLimit(.minutes(20)))
  func race() async {
    mock.onOthers(.hold(whenCancelled: .complete))
    for round in 0..<2_000 {
      let task = mock.task(for: request)
      let options: CancellationOptions = round.isMultiple(of: 2) ? [] : .forceImmediately
      await withTaskGroup(of: Void.self) { group in
        group.addTask { task.start() }
        group.addTask { task.cancel(options) }
      }
      if task.future.outcomeIfCompleted?.ending != .cancelled { Issue.record("Round \(round) did not end cancelled.") }
    }

    expectEqual(mock.pendingCount, 0)
  }

  // MARK: - Progress

  @Test("A task has the latest progress, and the handler of its request gets it as well")
  func progress() {
    let held = mock.hold()
    let reports = Locked<[HTTPProgress]>([])
    var request = request
    request.progress = { progress in reports.withLock { $0.append(progress) } }
    let task = mock.task(for: request)
    expectEqual(task.progress, HTTPProgress())
    task.start()
    let report = HTTPProgress(received: .init(completed: 5, total: 10))

    let handler = held.request?.progress
    handler?(report)

    expectEqual(task.progress, report)
    expectEqual(reports.value, [report])
    expectEqual(task.progress.received.fraction, 0.5)
    held.complete(.cancelled)
  }

  @Test("A request that is not forwarded and races the start ends the task", .timeLimit(.minutes(20)))
  func startAgainstDetaching() {
    mock.on(.any, .hold().forever())
    var pending = 0

    for _ in 0..<600 {
      let task = mock.task(for: request)
      atOnce({ task.start() }, { task.cancel(.doNotForwardRequest) })
      if !task.future.isCompleted { pending += 1 }
    }

    expectEqual(pending, 0)
  }

  // MARK: - Printing

  @Test("A task never prints the query")
  func secrets() {
    mock.answer()
    let task = mock.task(for: request)

    var dumped = ""
    dump(task, to: &dumped)

    #expect("\(task)".hasSuffix(": GET http://example.com/feed?…"))
    for text in [dumped, "\(task)", "\(task.future.tree())"] { #expect(!text.contains(sentinel)) }
    task.start()
  }
}
