import Foundation
import FutureTree
import FutureTreeHTTP

/// What a stub of a `MockLoader` answers.
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
  }

  struct Delay: Sendable {
    let duration: Duration
    let clock: any FutureClock
  }

  let action: Action
  private(set) var delay: Delay?
  /// How often it is given before the next; nil for ever.
  private(set) var count: Int? = 1

  init(_ action: Action) {
    self.action = action
  }
}

// MARK: - Answers

extension MockAnswer {
  /// A response.
  public static func respond(
    status: HTTPStatus = .ok, headers: HTTPHeaders = HTTPHeaders(), body: Data = Data()
  ) -> MockAnswer {
    make { HTTPResponse(to: $0, status: status, headers: headers, body: body) }
  }

  /// A response without a body.
  public static func status(_ status: HTTPStatus) -> MockAnswer {
    respond(status: status)
  }

  /// A response of JSON.
  public static func json(_ json: String, status: HTTPStatus = .ok) -> MockAnswer {
    respond(status: status, headers: .contentType("application/json"), body: Data(json.utf8))
  }

  /// A response of plain text.
  public static func text(_ text: String, status: HTTPStatus = .ok) -> MockAnswer {
    respond(status: status, headers: .contentType("text/plain; charset=utf-8"), body: Data(text.utf8))
  }

  /// A failure.
  public static func fail(_ error: any Error) -> MockAnswer {
    make { _ in throw error }
  }

  /// What `make` returns or throws. It is called outside every lock, on the thread of the load.
  public static func make(_ make: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse) -> MockAnswer {
    MockAnswer(.make(make))
  }

  /// Nothing, until the test completes it: each load gets a held answer of its own, which `MockStub.held` lists.
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

// MARK: - How often, and when

extension MockAnswer {
  /// The same answer so many times, before the next of its stub is given.
  ///
  /// - Precondition: `count` is positive.
  public func times(_ count: Int) -> MockAnswer {
    precondition(count > 0, "An answer cannot be given \(count) times. Pass at least 1.")
    var answer = self
    answer.count = count
    return answer
  }

  /// The same answer to every further load. It is the last of its stub.
  public func forever() -> MockAnswer {
    var answer = self
    answer.count = nil
    return answer
  }

  /// The same answer after a time; a held answer begins then. A request to cancel in that time completes the load
  /// `.cancelled` at once.
  ///
  /// - Precondition: `duration` is not negative.
  public func delayed(by duration: Duration, clock: any FutureClock) -> MockAnswer {
    precondition(
      duration >= .zero, "The delay of an answer is negative (\(duration.rounded)). Pass zero or a positive duration.")
    var answer = self
    answer.delay = Delay(duration: duration, clock: clock)
    return answer
  }

  /// Takes one use away. Returns nil if none is left.
  func usedOnce() -> MockAnswer? {
    guard let count else { return self }
    return count > 1 ? times(count - 1) : nil
  }

  /// Whether a load that gets this never ends by itself, whatever is asked of it.
  var ignoresCancel: Bool {
    switch action {
    case .make: false
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
