import Foundation
import FutureTree
import FutureTreeHTTP

/// An answer that the test completes.
///
/// ```swift
/// let held = mock.hold()
/// let user = api.user(1)
/// user.cancel()
/// #expect(held.cancelRequest != nil)   // Asked, and not ended:
/// held.complete(.cancelled)            // what comes of it is the test's to say.
/// ```
///
/// One that is dropped before it was completed fails its load. It can be used from any thread.
public final class HeldAnswer: Sendable {
  /// What a held answer does when it is asked to cancel. The request is recorded in each case.
  public enum WhenCancelled: Sendable, Hashable {
    /// It goes on, and the test completes it, as a transport confirms.
    case `continue`
    /// It completes `.cancelled` at once.
    case complete
    /// It goes on as if nothing was asked, and a `reset` of the mock does not wait for it: for tests of what gives up
    /// waiting.
    case ignore
  }

  /// What it does when it is asked to cancel.
  public let whenCancelled: WhenCancelled

  private let promise = Promise<HTTPResponse>()
  private let begun = Promise<HTTPRequest>()

  init(whenCancelled: WhenCancelled) {
    self.whenCancelled = whenCancelled
  }

  /// Succeeds with what was loaded, as soon as it is.
  public var loaded: Future<HTTPRequest> { begun.future }

  /// What was loaded; nil until it was.
  public var request: HTTPRequest? {
    if case .success(let request) = begun.future.outcomeIfCompleted { request } else { nil }
  }

  /// What was asked of it; nil if nothing was.
  public var cancelRequest: CancelRequest? { promise.cancelRequest }

  /// Whether its load has ended.
  public var isCompleted: Bool { promise.future.isCompleted }

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

  /// Completes the load with an answer of a stub. Returns false if it was completed before, or if nothing was loaded yet.
  ///
  /// ```swift
  /// held.answer(.json("[]"))
  /// ```
  ///
  /// - Precondition: The answer is not itself held.
  @discardableResult
  public func answer(_ answer: MockAnswer) -> Bool {
    guard case .make(let make) = answer.action else {
      preconditionFailure("A held answer cannot be completed with another held answer. Pass a response or an error.")
    }
    guard let request else { return false }
    let response = Future.attempt { .succeeded(try make(request)) }
    guard let delay = answer.delay else { return complete(.completeUsing(response)) }
    return complete(.completeUsing(Future.after(delay.duration, clock: delay.clock).flatMap { response }))
  }

  /// Tells the `ProgressHandler` of the request how it gets on, as a transport does. Returns false if nothing was loaded yet,
  /// the answer was completed, or nobody wants to be told.
  ///
  /// ```swift
  /// held.report(HTTPProgress(sent: .init(completed: 10, total: 10)))   // The request was sent,
  /// held.report(HTTPProgress(sent: .init(completed: 10, total: 10)))   // and this is the head of the answer.
  /// ```
  @discardableResult
  public func report(_ progress: HTTPProgress = HTTPProgress()) -> Bool {
    guard !isCompleted, let handler = request?[option: ProgressHandler.self] else { return false }
    handler(progress)
    return true
  }

  /// - Parameter onCancel: is told what was asked, before anything comes of it.
  func begin(
    _ request: HTTPRequest, onCancel: @escaping @Sendable (ReceivedCancelRequest<HTTPResponse>) -> Void
  ) -> Future<HTTPResponse> {
    promise.onRequestCancel { [whenCancelled] received in
      onCancel(received)
      return whenCancelled == .complete ? .complete(.cancelled) : .continue
    }
    begun.succeed(request)
    return promise.future.named(request.description)
  }
}
