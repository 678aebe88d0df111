import Foundation
import FutureTree
import FutureTreeHTTP

/// A loader that answers as the test says, in the place of a transport.
///
/// ```swift
/// let mock = MockLoader()
/// mock.answer(status: .ok, body: #"{"name": "Ada"}"#)   // The next load gets this,
/// let held = mock.hold()                                // and the one after it waits for the test.
///
/// let user = api.user(1), posts = api.posts(of: 1)
/// posts.cancel()
/// #expect(held.cancelRequest != nil)
/// held.complete(.cancelled)
/// ```
///
/// Answers are used in the order in which they were given. A load for which there is no answer fails with
/// `UnexpectedRequest`. It can be used from any thread.
public final class MockLoader: HTTPLoader {
  private enum Answer {
    case made(@Sendable (HTTPRequest) throws -> HTTPResponse)
    case held(HeldAnswer)
  }

  private struct State {
    var answers: [Answer] = []
    var requests: [HTTPRequest] = []
    var cancelRequests: [ReceivedCancel] = []
    var live: [ObjectIdentifier: Future<HTTPResponse>] = [:]
  }

  /// A request to cancel that reached the mock, and what it was meant for.
  public struct ReceivedCancel: Sendable {
    /// What was loaded.
    public let request: HTTPRequest
    /// How far the request to cancel went.
    public let options: CancellationOptions
    /// Why.
    public let reason: CancellationReason
  }

  private let state = Locked(State())

  /// A loader without answers.
  public init() {}

  /// The requests that were loaded, in order.
  public var requests: [HTTPRequest] { state.withLock { $0.requests } }

  /// The requests to cancel that reached held answers, in order.
  public var cancelRequests: [ReceivedCancel] { state.withLock { $0.cancelRequests } }

  /// How many answers have not been used.
  public var unusedAnswers: Int { state.withLock { $0.answers.count } }

  /// Uses the next answer.
  public func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    let answer: Answer? = state.withLock { state in
      state.requests.append(request)
      return state.answers.isEmpty ? nil : state.answers.removeFirst()
    }
    switch answer {
    case .made(let make):
      do { return .succeeded(try make(request)) } catch { return .failed(error) }
    case .held(let held):
      return hold(request, until: held)
    case nil:
      return .failed(UnexpectedRequest(request: request.description))
    }
  }

  /// Cancels the answers that are held, and waits until the test has completed them.
  public func reset() -> Future<Void> {
    let live = state.withLock { Array($0.live.values) }
    for future in live { future.cancel(reason: "the mock was reset") }
    return Future.all(live.map { $0.onComplete { _ in } }).map { _ in }
  }

  private func hold(_ request: HTTPRequest, until held: HeldAnswer) -> Future<HTTPResponse> {
    let future = held.begin(request) { [weak self] received in
      self?.state.withLock { $0.cancelRequests.append(received) }
    }
    let id = ObjectIdentifier(held)
    state.withLock { $0.live[id] = future }
    future.observe { [weak self] _ in
      let ended = self?.state.withLock { $0.live.removeValue(forKey: id) }
      _ = ended  // Freed here, not under the lock.
    }
    return future
  }
}

// MARK: - Answers

extension MockLoader {
  /// Answers the next load that has no answer yet.
  public func answer(
    status: HTTPStatus = .ok, headers: HTTPHeaders = HTTPHeaders(), body: String = ""
  ) {
    answer { HTTPResponse(to: $0, status: status, headers: headers, body: Data(body.utf8)) }
  }

  /// Answers the next load that has no answer yet with what `make` returns or throws.
  public func answer(_ make: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse) {
    state.withLock { $0.answers.append(.made(make)) }
  }

  /// Fails the next load that has no answer yet.
  public func fail(_ error: any Error) {
    answer { _ in throw error }
  }

  /// Holds the next load that has no answer yet, until the test completes it.
  public func hold() -> HeldAnswer {
    let held = HeldAnswer()
    state.withLock { $0.answers.append(.held(held)) }
    return held
  }
}

/// An answer that the test completes.
///
/// A request to cancel it is recorded and answered `.continue`: what comes of it is the test's to say.
public final class HeldAnswer: Sendable {
  private let promise = Promise<HTTPResponse>()
  private let begun = Locked<HTTPRequest?>(nil)

  /// What was loaded; nil until it was.
  public var request: HTTPRequest? { begun.withLock { $0 } }

  /// What was asked of it; nil if nothing was.
  public var cancelRequest: CancelRequest? { promise.cancelRequest }

  /// Completes the answer. Returns false if it was completed before.
  @discardableResult
  public func complete(_ completion: Completion<HTTPResponse>) -> Bool {
    promise.complete(completion)
  }

  /// Completes the answer with a response. Returns false if it was completed before, or if nothing was loaded yet.
  @discardableResult
  public func answer(status: HTTPStatus = .ok, headers: HTTPHeaders = HTTPHeaders(), body: String = "") -> Bool {
    guard let request else { return false }
    return complete(.success(HTTPResponse(to: request, status: status, headers: headers, body: Data(body.utf8))))
  }

  fileprivate func begin(
    _ request: HTTPRequest, onCancel: @escaping @Sendable (MockLoader.ReceivedCancel) -> Void
  ) -> Future<HTTPResponse> {
    begun.withLock { $0 = request }
    promise.onRequestCancel { received in
      onCancel(MockLoader.ReceivedCancel(request: request, options: received.options, reason: received.reason))
      return .continue
    }
    return promise.future.named(request.description)
  }
}

/// The error of a load for which a mock had no answer.
public struct UnexpectedRequest: Error, Hashable, CustomStringConvertible {
  /// Method and URL of the request.
  public let request: String

  public var description: String {
    "MockLoader has no answer for \(request). Give it one with `answer`, `fail` or `hold` before the load."
  }
}
