import Foundation
import FutureTree
import FutureTreeHTTP

/// An answer of a stub of a `MockLoader`.
///
/// ```swift
/// mock.on("/flaky", .status(.serviceUnavailable).times(2), .json("[]").forever())
/// mock.on("/slow", .text("at last").delayed(by: .seconds(3), clock: clock))
/// mock.on("/down", .fail(HTTPError(.cannotConnect, "nobody listens")))
/// ```
public struct MockAnswer: Sendable {
  enum Action: Sendable {
    case make(@Sendable (HTTPRequest) throws -> HTTPResponse)
    case hold(HeldAnswer.WhenCancelled)
    case held(HeldAnswer)
    case heldStream(HeldStream)
    case chunks([Data], status: HTTPStatus, headers: HTTPHeaders, failure: (any Error)?)
  }

  struct Delay: Sendable {
    let duration: Duration
    let clock: any FutureClock
  }

  let action: Action
  private(set) var delay: Delay?
  /// How often the answer is given before the next one. `nil` means forever.
  private(set) var count: Int? = 1

  init(_ action: Action) {
    self.action = action
  }
}

// MARK: - Answers

extension MockAnswer {
  /// Responds with a status, headers, a body, and the fields after it.
  public static func respond(
    status: HTTPStatus = .ok, headers: HTTPHeaders = HTTPHeaders(), body: Data = Data(),
    trailers: HTTPHeaders = HTTPHeaders()
  ) -> MockAnswer {
    make { HTTPResponse(to: $0, status: status, headers: headers, body: body, trailers: trailers) }
  }

  /// Responds with a status and no body.
  public static func status(_ status: HTTPStatus) -> MockAnswer {
    respond(status: status)
  }

  /// Responds with a JSON body.
  public static func json(_ json: String, status: HTTPStatus = .ok) -> MockAnswer {
    respond(status: status, headers: .contentType("application/json"), body: Data(json.utf8))
  }

  /// Responds with a plain-text body.
  public static func text(_ text: String, status: HTTPStatus = .ok) -> MockAnswer {
    respond(status: status, headers: .contentType("text/plain; charset=utf-8"), body: Data(text.utf8))
  }

  /// Responds with a body that arrives in chunks. They are sent when the load begins.
  ///
  /// ```swift
  /// let type = try HTTPHeaders(["Content-Type": "text/event-stream"])
  /// mock.on("/feed", .chunks(["data: one\n\n", "data: tw"], headers: type, failure: HTTPError(.connectionLost, "cut")))
  /// ```
  ///
  /// A request that asks for no stream gets the whole body, or the failure.
  ///
  /// - Parameters:
  ///   - chunks: The chunks, in UTF-8.
  ///   - status: The status.
  ///   - headers: The headers.
  ///   - failure: The error after the last chunk. Defaults to `nil`: the body is whole.
  public static func chunks(
    _ chunks: [String], status: HTTPStatus = .ok, headers: HTTPHeaders = HTTPHeaders(), failure: (any Error)? = nil
  ) -> MockAnswer {
    MockAnswer(.chunks(chunks.map { Data($0.utf8) }, status: status, headers: headers, failure: failure))
  }

  /// Fails the load with an error.
  public static func fail(_ error: any Error) -> MockAnswer {
    make { _ in throw error }
  }

  /// Answers with the response that `make` returns, or fails with the error that it throws. `make` runs outside every lock, on
  /// the thread of the load.
  public static func make(_ make: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse) -> MockAnswer {
    MockAnswer(.make(make))
  }

  /// Holds the load until the test completes it. Each load gets its own held answer, which `MockStub.held` lists.
  ///
  /// ```swift
  /// let stub = mock.on("/users/*", .hold().forever())
  /// let users = (1...3).map { api.user($0) }
  /// users[1].cancel()
  /// #expect(stub.held.map { $0.cancelRequest != nil } == [false, true, false])
  /// ```
  public static func hold(whenCancelled: HeldAnswer.WhenCancelled = .continue) -> MockAnswer {
    MockAnswer(.hold(whenCancelled))
  }
}

// MARK: - Count and delay

extension MockAnswer {
  /// Returns this answer, to be given `count` times before the stub's next answer.
  ///
  /// - Precondition: `count` is positive.
  public func times(_ count: Int) -> MockAnswer {
    precondition(count > 0, "An answer cannot be given \(count) times. Pass at least 1.")
    var answer = self
    answer.count = count
    return answer
  }

  /// Returns this answer, to be given to every further load. It must be the last answer of its stub.
  public func forever() -> MockAnswer {
    var answer = self
    answer.count = nil
    return answer
  }

  /// Returns this answer, given after a delay. A held answer begins after the delay. A cancellation request during the delay
  /// completes the load as `.cancelled` at once.
  ///
  /// - Precondition: `duration` is not negative.
  public func delayed(by duration: Duration, clock: any FutureClock) -> MockAnswer {
    precondition(
      duration >= .zero, "The delay of an answer is negative (\(duration.rounded)). Pass zero or a positive duration.")
    var answer = self
    answer.delay = Delay(duration: duration, clock: clock)
    return answer
  }

  /// Returns the answer with one use fewer, or `nil` if none is left.
  func usedOnce() -> MockAnswer? {
    guard let count else { return self }
    return count > 1 ? times(count - 1) : nil
  }

  /// Whether a load with this answer never completes by itself, even if it receives a cancellation request.
  var ignoresCancel: Bool {
    switch action {
    case .make, .chunks: false
    case .heldStream(let stream): stream.whenCancelled == .ignore
    case .hold(let whenCancelled): whenCancelled == .ignore
    case .held(let held): held.whenCancelled == .ignore
    }
  }
}

extension HTTPHeaders {
  fileprivate static func contentType(_ value: String) -> HTTPHeaders {
    var headers = HTTPHeaders()
    do { try headers.add("Content-Type", value) } catch { preconditionFailure("\(error)") }
    return headers
  }
}
