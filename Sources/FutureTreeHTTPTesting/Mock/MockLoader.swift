import Foundation
import FutureTree
import FutureTreeHTTP

/// A loader that answers as the test says, in the place of a transport.
///
/// ```swift
/// let mock = MockLoader()
/// mock.on("/users/*", .json(#"{"name": "Ada"}"#))                      // One request for a user gets this,
/// mock.on("/posts", .status(.serviceUnavailable).times(2), .json("[]"))  // posts work at the third time,
/// let held = mock.hold("/comments")                                     // and comments wait for the test.
///
/// let user = api.user(1), comments = api.comments()
/// comments.cancel()
/// #expect(held.cancelRequest != nil)
/// held.complete(.cancelled)
/// try mock.verify()   // Fails: nobody asked for posts.
/// ```
///
/// Each of `on`, `answer`, `fail` and `hold` makes a *stub*. A load takes the next answer of the first stub, in the order in
/// which they were made, that matches it and has answers left: stubs for any request are a queue. A load that no stub is for
/// gets the default answer, or fails with `UnexpectedRequest`, which says why each stub was not for it.
///
/// It can be used from any thread. Closures that it is given run outside every lock.
public final class MockLoader: HTTPLoader {
  /// A request to cancel that reached the mock, and what it was meant for.
  public struct ReceivedCancel: Sendable {
    /// What was loaded.
    public let request: HTTPRequest
    /// How far the request to cancel went.
    public let options: CancellationOptions
    /// Why.
    public let reason: CancellationReason
  }

  let script = Locked(MockScript())
  private let pending = Locked(PendingLoads())

  /// A loader without answers.
  public init() {}

  /// Gives the request the next answer of the first stub that is for it.
  public func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
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

  /// Cancels the answers that are held or delayed, and waits until they have ended; not for those that ignore it. Stubs and
  /// what was recorded stay.
  public func reset() -> Future<Void> {
    let loads = pending.withLock { $0.all }
    for load in loads { load.future.cancel(reason: "the mock was reset") }
    return Future.all(loads.filter { !$0.ignoresCancel }.map { $0.future.onComplete { _ in .succeeded } }).map { _ in }
  }
}

// MARK: - Telling it what to answer

extension MockLoader {
  /// Makes a stub: the answers for some requests, given in turn, each as often as it says.
  ///
  /// ```swift
  /// mock.on("/flaky", .status(.serviceUnavailable).times(2), .json("[]").forever())
  /// ```
  ///
  /// - Parameters:
  ///   - matcher: which requests are meant; a text is a path.
  ///   - first: the first answer.
  ///   - rest: the answers after it. One that is for ever is the last.
  ///   - fileID: the file of the call, for errors.
  ///   - line: the line of the call, for errors.
  /// - Returns: what came of it.
  @discardableResult
  public func on(
    _ matcher: RequestMatcher, _ first: MockAnswer, _ rest: MockAnswer..., fileID: String = #fileID, line: UInt = #line
  ) -> MockStub {
    add(matcher, [first] + rest, fileID: fileID, line: line)
  }

  /// Says what is answered to requests that no stub is for: in turn, the last for ever. What was said before is replaced.
  ///
  /// `verify()` does not expect it to be used, and a request that gets it met a stub.
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

  /// Answers one load, of any request.
  public func answer(
    status: HTTPStatus = .ok, headers: HTTPHeaders = HTTPHeaders(), body: String = "", fileID: String = #fileID,
    line: UInt = #line
  ) {
    add(.any, [.respond(status: status, headers: headers, body: Data(body.utf8))], fileID: fileID, line: line)
  }

  /// Answers one load, of any request, with what `make` returns or throws.
  public func answer(
    fileID: String = #fileID, line: UInt = #line, _ make: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse
  ) {
    add(.any, [.make(make)], fileID: fileID, line: line)
  }

  /// Fails one load, of any request.
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
  ///   - matcher: which requests are meant; any, if nothing is said.
  ///   - whenCancelled: what it does when it is asked to cancel.
  ///   - fileID: the file of the call, for errors.
  ///   - line: the line of the call, for errors.
  public func hold(
    _ matcher: RequestMatcher = .any, whenCancelled: HeldAnswer.WhenCancelled = .continue, fileID: String = #fileID,
    line: UInt = #line
  ) -> HeldAnswer {
    let held = HeldAnswer(whenCancelled: whenCancelled)
    add(matcher, [MockAnswer(.held(held))], fileID: fileID, line: line)
    return held
  }

  @discardableResult
  private func add(_ matcher: RequestMatcher, _ answers: [MockAnswer], fileID: String, line: UInt) -> MockStub {
    precondition(
      answers.dropLast().allSatisfy { $0.count != nil },
      "A stub at \(fileID):\(line) has an answer after an answer with `forever()`, which is never used. Remove it.")
    let number = script.withLock { $0.add(matcher, answers, fileID: fileID, line: line) }
    return MockStub(mock: self, number: number)
  }
}

// MARK: - What it has seen

extension MockLoader {
  /// The requests that were loaded, in order, also those that met no stub.
  public var requests: [HTTPRequest] { script.withLock { $0.requests } }

  /// The requests to cancel that reached held and delayed answers, in order.
  public var cancelRequests: [ReceivedCancel] { script.withLock { $0.cancelRequests } }

  /// How many answers were not given yet; one that is for ever counts until it was given once.
  public var unusedAnswers: Int { script.withLock { $0.unusedAnswers } }

  /// How many loads are held or delayed now.
  public var pendingCount: Int { pending.withLock { $0.all.count } }

  /// Checks that every stub was used up, and that every request met a stub or the default answer.
  ///
  /// - Throws: an error that lists each stub with answers that were not given, with the file and the line that made it, and
  ///   each request that met no stub, with the reasons.
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
      // A request that came meanwhile has ended the load: what it would have waited for gets it.
      if !promise.complete(.completeUsing(begun)) { begun.cancel(reason: promise.cancelRequest?.reason) }
    }
    promise.onRequestCancel { [weak self] received in
      self?.record(received, request)
      timer.cancel()
      return .complete(.cancelled)
    }
    return keep(promise.future.named(request.description), ignoresCancel: answer.ignoresCancel)
  }

  private func begin(_ answer: MockAnswer, _ request: HTTPRequest, of stub: Int) -> Future<HTTPResponse> {
    switch answer.action {
    case .make(let make):
      do { return .succeeded(try make(request)) } catch { return .failed(error) }
    case .held(let held):
      return hold(request, by: held)
    case .hold(let whenCancelled):
      let held = HeldAnswer(whenCancelled: whenCancelled)
      script.withLock { $0.addHeld(held, to: stub) }
      return hold(request, by: held)
    }
  }

  private func hold(_ request: HTTPRequest, by held: HeldAnswer) -> Future<HTTPResponse> {
    let future = held.begin(request) { [weak self] received in self?.record(received, request) }
    return keep(future, ignoresCancel: held.whenCancelled == .ignore)
  }

  private func record(_ received: ReceivedCancelRequest<HTTPResponse>, _ request: HTTPRequest) {
    let entry = ReceivedCancel(request: request, options: received.options, reason: received.reason)
    script.withLock { $0.cancelRequests.append(entry) }
  }

  /// Remembers a load until it has ended.
  private func keep(_ future: Future<HTTPResponse>, ignoresCancel: Bool) -> Future<HTTPResponse> {
    let id = pending.withLock { $0.add(future, ignoresCancel: ignoresCancel) }
    future.observe { [weak self] _ in
      let ended = self?.pending.withLock { $0.remove(id) }
      _ = ended  // Freed here, not under the lock.
    }
    return future
  }
}

/// The loads that have not ended, in the order in which they began.
private struct PendingLoads {
  typealias Load = (future: Future<HTTPResponse>, ignoresCancel: Bool)

  private var loads: [Int: Load] = [:]
  private var lastID = 0

  var all: [Load] { loads.sorted { $0.key < $1.key }.map(\.value) }

  mutating func add(_ future: Future<HTTPResponse>, ignoresCancel: Bool) -> Int {
    lastID += 1
    loads[lastID] = (future, ignoresCancel)
    return lastID
  }

  mutating func remove(_ id: Int) -> Load? {
    loads.removeValue(forKey: id)
  }
}
