import Foundation
import FutureTree
import FutureTreeHTTP

/// A loader that gives scripted answers, in place of a transport.
///
/// ```swift
/// let mock = MockLoader()
/// mock.on("/users/*", .json(#"{"name": "Ada"}"#))                      // The first request for a user gets this answer.
/// mock.on("/posts", .status(.serviceUnavailable).times(2), .json("[]"))  // The third request for posts succeeds.
/// let held = mock.hold("/comments")                                     // Comments wait until the test answers.
///
/// let user = api.user(1), comments = api.comments()
/// comments.cancel()
/// #expect(held.cancelRequest != nil)
/// held.complete(.cancelled)
/// try mock.verify()   // Throws: the answers for posts are unused.
/// ```
///
/// Each call of `on`, `answer`, `fail` and `hold` makes a *stub*. A load takes the next answer of the first stub that matches
/// it and has answers left. Stubs are searched in the order in which they were made, so stubs for any request form a queue. A
/// load that no stub matches gets the default answer, if there is one. Otherwise it fails with `UnexpectedRequest`, which has
/// the reason why each stub did not match.
///
/// As with a transport, a request without a host fails with the code `missingHost`. It is not recorded, and takes no answer. Put
/// `ApplyEnvironment` before the mock, as before the transport.
///
/// - Note: All members can be used from any thread. The closures of the test run outside every lock.
public final class MockLoader: HTTPLoader {
  /// A cancellation request that reached the mock, with the request that it cancels.
  public struct ReceivedCancel: Sendable {
    /// The loaded request.
    public let request: HTTPRequest
    /// The options of the cancellation request.
    public let options: CancellationOptions
    /// The reason for the cancellation request.
    public let reason: CancellationReason
  }

  let script = Locked(MockScript())
  private let pending = Locked(PendingLoads())

  private let clock: any FutureClock

  /// Creates a loader without answers.
  ///
  /// - Parameter clock: The clock of the idle-read timeouts of streams. Pass a `ManualClock` to a test of them.
  public init(clock: any FutureClock = .system) {
    self.clock = clock
  }

  /// Returns the next answer of the first stub that matches the request.
  public func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    do { _ = try request.requireURL() } catch { return .failed(error) }
    var mismatches: [Int: String] = [:]
    var number = -1
    while let stub = script.withLock({ $0.next(after: number) }) {
      number = stub.number
      if let mismatch = stub.matcher.mismatch(request) {
        mismatches[number] = mismatch
      } else if let answer = script.withLock({ $0.claim(number, for: request) }) {
        return give(answer, to: request, of: number)
      }
    }
    let (fallback, answer) = script.withLock { script in
      (script.fallback, script.fallback.flatMap { script.claim($0, for: request) })
    }
    if let fallback, let answer { return give(answer, to: request, of: fallback) }
    return .failed(script.withLock { $0.unexpected(request, mismatches: mismatches) })
  }

  /// Cancels the held and the delayed answers and the held streams, and waits until their loads and transfers have completed.
  ///
  /// It does not wait for answers that ignore cancellation (`HeldAnswer.WhenCancelled.ignore`). Stubs and recorded requests
  /// stay.
  public func reset() -> Future<Void> { end(pending.withLock { $0.all }) }

  public func drain(_ notes: ResetNotes) -> Future<Void> {
    let loads = pending.withLock { $0.all }
    notes.drained(loads.count)
    return end(loads)
  }

  private func end(_ loads: [PendingLoads.Load]) -> Future<Void> {
    for load in loads { load.cancel(.of(.reset, "the mock was reset")) }
    return Future.all(loads.filter { !$0.ignoresCancel }.map { $0.ended() }).map { _ in }
  }
}

// MARK: - Making stubs

extension MockLoader {
  /// Makes a stub: answers for matching requests, given in turn.
  ///
  /// ```swift
  /// mock.on("/flaky", .status(.serviceUnavailable).times(2), .json("[]").forever())
  /// ```
  ///
  /// - Parameters:
  ///   - matcher: The requests that the stub answers. A string literal is a path.
  ///   - first: The first answer.
  ///   - rest: The following answers. Only the last one can be `forever()`.
  ///   - fileID: The file of the call, for errors.
  ///   - line: The line of the call, for errors.
  /// - Returns: The stub, which records its requests and its held answers.
  @discardableResult
  public func on(
    _ matcher: RequestMatcher, _ first: MockAnswer, _ rest: MockAnswer..., fileID: String = #fileID, line: UInt = #line
  ) -> MockStub {
    add(matcher, [first] + rest, fileID: fileID, line: line)
  }

  /// Sets the default answers, for requests that no stub matches. They are given in turn, and the last one repeats.
  ///
  /// The call replaces earlier default answers. `verify()` does not expect them to be used, and accepts the requests that get
  /// them.
  @discardableResult
  public func onOthers(
    _ first: MockAnswer, _ rest: MockAnswer..., fileID: String = #fileID, line: UInt = #line
  ) -> MockStub {
    let answers = [first] + rest
    let number = script.withLock {
      $0.setFallback(answers.dropLast() + [answers[answers.count - 1].forever()], fileID: fileID, line: line)
    }
    return MockStub(mock: self, number: number)
  }

  /// Answers one load of any request.
  public func answer(
    status: HTTPStatus = .ok, headers: HTTPHeaders = HTTPHeaders(), body: String = "", fileID: String = #fileID,
    line: UInt = #line
  ) {
    add(.any, [.respond(status: status, headers: headers, body: Data(body.utf8))], fileID: fileID, line: line)
  }

  /// Answers one load of any request with the response that `make` returns, or with the error that it throws.
  public func answer(
    fileID: String = #fileID, line: UInt = #line, _ make: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse
  ) {
    add(.any, [.make(make)], fileID: fileID, line: line)
  }

  /// Fails one load of any request.
  public func fail(_ error: any Error, fileID: String = #fileID, line: UInt = #line) {
    add(.any, [.fail(error)], fileID: fileID, line: line)
  }

  /// Holds one load until the test completes it.
  ///
  /// ```swift
  /// let held = mock.hold("/comments", whenCancelled: .ignore)
  /// ```
  ///
  /// - Parameters:
  ///   - matcher: The requests that the stub answers. Defaults to any request.
  ///   - whenCancelled: The reaction to a cancellation request. Defaults to `.continue`.
  ///   - fileID: The file of the call, for errors.
  ///   - line: The line of the call, for errors.
  /// - Returns: The answer to complete.
  public func hold(
    _ matcher: RequestMatcher = .any, whenCancelled: HeldAnswer.WhenCancelled = .continue, fileID: String = #fileID,
    line: UInt = #line
  ) -> HeldAnswer {
    let held = HeldAnswer(whenCancelled: whenCancelled)
    add(matcher, [MockAnswer(.held(held))], fileID: fileID, line: line)
    return held
  }

  /// Answers one load with a stream, whose body the test sends.
  ///
  /// ```swift
  /// let feed = mock.stream("/feed")
  /// ```
  ///
  /// - Parameters:
  ///   - matcher: The requests that the stub answers. Defaults to any request.
  ///   - status: The status.
  ///   - headers: The headers.
  ///   - whenCancelled: The reaction to a cancellation request. Defaults to `.continue`.
  ///   - fileID: The file of the call, for errors.
  ///   - line: The line of the call, for errors.
  /// - Returns: The stream to fill.
  public func stream(
    _ matcher: RequestMatcher = .any, status: HTTPStatus = .ok, headers: HTTPHeaders = HTTPHeaders(),
    whenCancelled: HeldAnswer.WhenCancelled = .continue, fileID: String = #fileID, line: UInt = #line
  ) -> HeldStream {
    let stream = HeldStream(status: status, headers: headers, whenCancelled: whenCancelled)
    add(matcher, [MockAnswer(.heldStream(stream))], fileID: fileID, line: line)
    return stream
  }

  @discardableResult
  private func add(_ matcher: RequestMatcher, _ answers: [MockAnswer], fileID: String, line: UInt) -> MockStub {
    precondition(
      answers.dropLast().allSatisfy { $0.count != nil },
      "A stub at \(fileID):\(line) has an answer after a `forever()` answer. It would never be used. Remove it.")
    let number = script.withLock { $0.add(matcher, answers, fileID: fileID, line: line) }
    return MockStub(mock: self, number: number)
  }
}

// MARK: - Recorded requests

extension MockLoader {
  /// The loaded requests, in order, including those that no stub matched.
  public var requests: [HTTPRequest] { script.withLock { $0.requests } }

  /// The cancellation requests that reached held and delayed answers, in order.
  public var cancelRequests: [ReceivedCancel] { script.withLock { $0.cancelRequests } }

  /// The number of answers that were not given yet. An answer that is `forever()` counts until it was given once.
  public var unusedAnswers: Int { script.withLock { $0.unusedAnswers } }

  /// The number of loads that are held or delayed now, and of streams that have not ended.
  public var pendingCount: Int { pending.withLock { $0.all.count } }

  /// Checks that every stub was used up, and that every request got an answer from a stub or a default answer.
  ///
  /// - Throws: `MockVerificationError`. It lists each stub with unused answers, with the file and the line that made it, and
  ///   each request that no stub matched, with the reasons.
  public func verify() throws(MockVerificationError) {
    if let error = script.withLock({ $0.verificationError }) { throw error }
  }
}

// MARK: - Giving answers

extension MockLoader {
  private func give(_ answer: MockAnswer, to request: HTTPRequest, of stub: Int) -> Future<HTTPResponse> {
    guard let delay = answer.delay else { return begin(answer, request, of: stub) }
    let promise = Promise<HTTPResponse>()
    let timer = delay.clock.schedule(after: delay.duration) { [self] in
      guard promise.cancelRequest == nil else { return }
      let begun = begin(answer, request, of: stub)
      // A cancellation request that arrived meanwhile completed the load: the held answer receives the request now.
      if !promise.complete(.completeUsing(begun)) { begun.cancel(reason: promise.cancelRequest?.reason) }
    }
    promise.onRequestCancel { [weak self] received in
      self?.record(request, received.options, received.reason)
      timer.cancel()
      return .complete(.cancelled)
    }
    return keep(promise.future.named(request.description), ignoresCancel: answer.ignoresCancel)
  }

  private func begin(_ answer: MockAnswer, _ request: HTTPRequest, of stub: Int) -> Future<HTTPResponse> {
    switch answer.action {
    case .make(let make):
      do { return .succeeded(try make(request).delivered(for: request)) } catch { return .failed(error) }
    case .heldStream(let stream):
      return hold(request, by: stream)
    case .chunks(let chunks, let status, let headers, let failure):
      let stream = HeldStream(status: status, headers: headers, whenCancelled: .complete)
      let future = hold(request, by: stream)
      for chunk in chunks { stream.send(chunk) }
      if let failure { stream.fail(failure) } else { stream.finish() }
      return future
    case .held(let held):
      return hold(request, by: held)
    case .hold(let whenCancelled):
      let held = HeldAnswer(whenCancelled: whenCancelled)
      script.withLock { $0.addHeld(held, to: stub) }
      return hold(request, by: held)
    }
  }

  private func hold(_ request: HTTPRequest, by held: HeldAnswer) -> Future<HTTPResponse> {
    let future = held.begin(request) { [weak self] received in
      self?.record(request, received.options, received.reason)
    }
    return keep(future, ignoresCancel: held.whenCancelled == .ignore)
  }

  private func hold(_ request: HTTPRequest, by stream: HeldStream) -> Future<HTTPResponse> {
    let future = stream.begin(request, clock: clock) { [weak self] options, reason in
      self?.record(request, options, reason)
    }
    return keep(future, ignoresCancel: stream.whenCancelled == .ignore)
  }

  private func record(_ request: HTTPRequest, _ options: CancellationOptions, _ reason: CancellationReason) {
    let entry = ReceivedCancel(request: request, options: options, reason: reason)
    script.withLock { $0.cancelRequests.append(entry) }
  }

  /// Keeps a load in `pending` until it has completed, and then the transfer of its stream.
  private func keep(_ future: Future<HTTPResponse>, ignoresCancel: Bool) -> Future<HTTPResponse> {
    track(future, ignoresCancel)
    future.observe { [weak self] outcome in
      guard case .success(let response) = outcome, !response.transfer.isCompleted else { return }
      self?.track(response.transfer, ignoresCancel)
    }
    return future
  }

  private func track<Value>(_ future: Future<Value>, _ ignoresCancel: Bool) {
    let id = pending.withLock { $0.add(PendingLoads.Load(future, ignoresCancel: ignoresCancel)) }
    future.observe { [weak self] _ in
      self?.pending.release { $0.remove(id) }
    }
  }
}

/// The loads and transfers that have not completed, in the order in which they began.
struct PendingLoads {
  struct Load: Sendable {
    let cancel: @Sendable (CancellationReason) -> Void
    let ended: @Sendable () -> Future<Void>
    let ignoresCancel: Bool

    init<Value>(_ future: Future<Value>, ignoresCancel: Bool) {
      cancel = { future.cancel(reason: $0) }
      ended = { future.onComplete { _ in .success } }
      self.ignoresCancel = ignoresCancel
    }
  }

  private var loads: [Int: Load] = [:]
  private var lastID = 0

  var all: [Load] { loads.sorted { $0.key < $1.key }.map(\.value) }

  mutating func add(_ load: Load) -> Int {
    lastID += 1
    loads[lastID] = load
    return lastID
  }

  mutating func remove(_ id: Int) -> Load? {
    loads.removeValue(forKey: id)
  }
}
