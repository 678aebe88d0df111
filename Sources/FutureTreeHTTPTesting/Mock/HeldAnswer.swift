import Foundation
import FutureTree
import FutureTreeHTTP

/// An answer that the test completes.
///
/// ```swift
/// let held = mock.hold()
/// let user = api.user(1)
/// user.cancel()
/// #expect(held.cancelRequest != nil)   // The request arrived, and the load continues
/// held.complete(.cancelled)            // until the test completes it.
/// ```
///
/// If a held answer is deallocated before it is completed, its load fails.
///
/// - Note: All members can be used from any thread.
public final class HeldAnswer: Sendable {
  /// The reaction of a held answer to a cancellation request. The request is recorded in each case.
  public enum WhenCancelled: Sendable, Hashable {
    /// Continues until the test completes the load, like a transport that confirms the cancellation later.
    case `continue`
    /// Completes the load as `.cancelled` at once.
    case complete
    /// Ignores the request, and a `reset` of the mock does not wait for the load. Use it to test code that stops waiting.
    case ignore
  }

  /// The reaction to a cancellation request.
  public let whenCancelled: WhenCancelled

  private let promise = Promise<HTTPResponse>()
  private let begun = Promise<HTTPRequest>()

  init(whenCancelled: WhenCancelled) {
    self.whenCancelled = whenCancelled
  }

  /// A future that succeeds with the loaded request as soon as the load begins.
  public var loaded: Future<HTTPRequest> { begun.future }

  /// The loaded request, or `nil` if the load has not begun.
  public var request: HTTPRequest? {
    if case .success(let request) = begun.future.outcomeIfCompleted { request } else { nil }
  }

  /// The cancellation request that this answer received, or `nil` if there was none.
  public var cancelRequest: CancelRequest? { promise.cancelRequest }

  /// Whether the load has completed.
  public var isCompleted: Bool { promise.future.isCompleted }

  /// Completes the load.
  ///
  /// - Returns: `false` if it was completed before.
  @discardableResult
  public func complete(_ completion: Completion<HTTPResponse>) -> Bool {
    promise.complete(completion)
  }

  /// Completes the load with a response. Its body is delivered as the request asks: in memory, in a file or as a stream.
  ///
  /// - Returns: `false` if the load was completed before or has not begun.
  @discardableResult
  public func answer(status: HTTPStatus = .ok, headers: HTTPHeaders = HTTPHeaders(), body: String = "") -> Bool {
    answer(.respond(status: status, headers: headers, body: Data(body.utf8)))
  }

  /// Completes the load with an answer, as a stub would.
  ///
  /// ```swift
  /// held.answer(.json("[]"))
  /// ```
  ///
  /// - Precondition: The answer is a response or an error, not `.hold` or `.chunks`.
  /// - Returns: `false` if the load was completed before or has not begun.
  @discardableResult
  public func answer(_ answer: MockAnswer) -> Bool {
    guard case .make(let make) = answer.action else {
      preconditionFailure(
        "A held answer cannot be completed with `.hold` or `.chunks`. Pass a response or an error, or use "
          + "`MockLoader.stream`.")
    }
    guard let request else { return false }
    let response = Future.attempt { .succeeded(try make(request).delivered(for: request)) }
    guard let delay = answer.delay else { return complete(.completeUsing(response)) }
    return complete(.completeUsing(Future.after(delay.duration, clock: delay.clock).flatMap { response }))
  }

  /// Reports progress to the `ProgressHandler` of the request, as a transport does.
  ///
  /// The method does nothing and returns `false` if the load has not begun or has completed, or if the request has no handler.
  ///
  /// ```swift
  /// held.report(HTTPProgress(sent: .init(completed: 10, total: 10)))   // The request was sent,
  /// held.report(HTTPProgress(sent: .init(completed: 10, total: 10)))   // and this is the head of the answer.
  /// ```
  @discardableResult
  public func report(_ progress: HTTPProgress = HTTPProgress()) -> Bool {
    guard !isCompleted, let handler = request?.progress else { return false }
    handler(progress)
    return true
  }

  /// - Parameter onCancel: Called with each cancellation request, before the request takes effect.
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
