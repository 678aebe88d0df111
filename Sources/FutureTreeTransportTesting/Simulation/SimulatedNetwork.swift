import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting

/// A transport with a server, both in simulated time, whose faults a seed decides. See ``Simulation``.
public final class SimulatedNetwork: HTTPLoader {
  /// An exchange that began.
  struct Exchange: Sendable {
    let number: Int
    let item: String
    let fault: SimulatedFault?
    /// Whether the load has failed by itself. Its connection can close later.
    var hasFailed = false
  }

  private struct State {
    var next = 0
    var open: [Int: Exchange] = [:]
    var largestOpenCount = 0
    /// The whole bodies that the server has answered, for each method, URL and user.
    var bodies: [String: [String: Set<Data>]] = [:]
    /// The number of exchanges for events, for each item.
    var eventCounts: [String: Int] = [:]
    var problems: [String] = []
    var answer: Answer = { $1 }
    var rules: [@Sendable (HTTPRequest) -> String?] = []
  }

  /// Returns the answer of the server to a request. The second argument is the usual answer.
  public typealias Answer = @Sendable (HTTPRequest, SimulatedResponse) -> SimulatedResponse

  private let clock: ManualClock
  private let secret: @Sendable (String) -> String
  private let faults: @Sendable (_ exchange: Int) -> (fault: SimulatedFault?, chance: UInt64)
  private let live = LiveLoads()
  private let state = Locked(State())

  init(
    clock: ManualClock, secret: @escaping @Sendable (String) -> String,
    faults: @escaping @Sendable (_ exchange: Int) -> (fault: SimulatedFault?, chance: UInt64)
  ) {
    self.clock = clock
    self.secret = secret
    self.faults = faults
  }

  /// The number of connections that are open.
  public var openCount: Int { state.withLock { $0.open.count } }
  /// The largest number of connections that were open at the same time, without those whose load had failed.
  public var largestOpenCount: Int { state.withLock { $0.largestOpenCount } }
  /// The number of exchanges that have begun.
  public var exchangeCount: Int { state.withLock { $0.next } }

  /// Changes the answers of the server. The closure is called once for each exchange, outside every lock.
  ///
  /// ```swift
  /// world.network.respond { request, usual in
  ///   request.method == .post ? SimulatedResponse(.created) : usual
  /// }
  /// ```
  public func respond(_ answer: @escaping Answer) {
    state.release { state in
      defer { state.answer = answer }
      return state.answer
    }
  }

  /// Adds a rule for the requests that reach the network. It returns the problem of a request, or `nil`.
  func check(_ rule: @escaping @Sendable (HTTPRequest) -> String?) {
    state.withLock { $0.rules.append(rule) }
  }

  var problems: [String] { state.withLock { $0.problems } }
  var open: [Exchange] { state.withLock { $0.open.values.sorted { $0.number < $1.number } } }
  /// The number of exchanges for the events of an item that have begun.
  func eventCount(of item: String) -> Int { state.withLock { $0.eventCounts[item, default: 0] } }

  /// Returns whether the server has answered requests with this target with a whole body, and whether one of them was from the same
  /// user.
  func hasAnswered(_ body: Data, to request: HTTPRequest) -> (anyUser: Bool, user: Bool) {
    let bodies = state.withLock { $0.bodies[request.simulatedTarget] ?? [:] }
    return (
      bodies.values.contains { $0.contains(body) }, bodies[request.simulatedUser ?? ""]?.contains(body) == true
    )
  }

  public func reset() -> Future<Void> { live.drain() }

  public func drain(_ notes: ResetNotes) -> Future<Void> { live.drain(notes) }

  public func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    for rule in state.withLock({ $0.rules }) {
      if let problem = rule(request) { state.withLock { $0.problems.append(problem) } }
    }
    let exchange: HTTPExchange
    let limits = HTTPExchange.Limits(timeout: .seconds(120), idleTimeout: .seconds(30), maximumBodySize: 1 << 20)
    do { exchange = try HTTPExchange(of: request, limits, clock: clock) } catch { return .failed(error) }
    let number = state.withLock { state in
      defer { state.next += 1 }
      return state.next
    }
    let (fault, chance) = faults(number)
    let usual = SimulatedResponse.item(request, secret: secret(request.url?.host ?? ""))
    let response = state.withLock { $0.answer }(request, usual)
    let item = request.simulatedItem
    state.withLock { state in
      state.open[number] = Exchange(number: number, item: item, fault: fault)
      if request.headers["Accept"] == "text/event-stream" { state.eventCounts[item, default: 0] += 1 }
      state.largestOpenCount = max(state.largestOpenCount, state.open.values.count { !$0.hasFailed })
    }
    var script = SimulatedScript(request, response, fault, chance)
    let steps = script.steps()
    if let body = script.wholeBody {
      state.withLock {
        _ = $0.bodies[request.simulatedTarget, default: [:]][request.simulatedUser ?? "", default: []].insert(body)
      }
    }
    let connection = SimulatedConnection(
      exchange, steps, closing: script.closing, fault: fault, clock: clock
    ) { [weak self] in
      _ = self?.state.withLock { $0.open.removeValue(forKey: number) }
    }
    if fault == .answersInline { connection.proceed() }
    let future = exchange.start(in: live) { connection.stop() }
    if fault != .answersInline { connection.proceed() }
    future.observe { [state] outcome in
      if case .failure = outcome { state.withLock { $0.open[number]?.hasFailed = true } }
    }
    return future
  }
}

extension HTTPRequest {
  var simulatedTarget: String { url.map { "\(method) \($0.host)\($0.path)" } ?? "" }

  /// The number of the user whose credential the request has.
  var simulatedUser: String? {
    headers.lazy.compactMap {
      $0.value.split(separator: SimulatedWorld.userMark, omittingEmptySubsequences: false).dropFirst().first
    }
    .first.map(String.init)
  }

  /// The item of a request, also after redirects: the first two parts of its path.
  var simulatedItem: String {
    (url?.path.description ?? "").split(separator: "/").prefix(2).joined(separator: "/")
  }
}

/// One exchange on the wire: a script of events in simulated time.
final class SimulatedConnection: Sendable {
  enum Event: Sendable {
    case bodySent(Int)
    case head(HTTPStatus, [(name: String, value: String)])
    case bytes(Data)
    case end(HTTPExchange.End)
    /// Nothing happens any more, until the connection is stopped.
    case stall
  }

  struct Step: Sendable {
    var delay: Duration
    let event: Event
  }

  /// The reaction to a cancellation.
  enum Closing: Sendable {
    case atOnce
    case after(Duration)
    case never
  }

  private struct State {
    var steps: ArraySlice<Step>
    var timer: FutureTimer?
    var isStopped = false
    var hasEnded = false
  }

  private let exchange: HTTPExchange
  private let clock: any FutureClock
  private let closing: Closing
  /// A fault of the calls of the transport.
  private let fault: SimulatedFault?
  private let onEnd: @Sendable () -> Void
  private let state: Locked<State>

  init(
    _ exchange: HTTPExchange, _ steps: [Step], closing: Closing, fault: SimulatedFault?, clock: any FutureClock,
    onEnd: @escaping @Sendable () -> Void
  ) {
    self.exchange = exchange
    self.clock = clock
    self.closing = closing
    self.fault = fault
    self.onEnd = onEnd
    state = Locked(State(steps: steps[...]))
  }

  /// Performs steps that are due, and schedules the next one.
  func proceed() {
    while let step = state.withLock({ $0.isStopped ? nil : $0.steps.first }) {
      guard step.delay <= .zero else {
        state.withLock { $0.steps[$0.steps.startIndex].delay = .zero }
        return schedule(after: step.delay) { $0.proceed() }
      }
      state.withLock { $0.steps = $0.steps.dropFirst() }
      guard perform(step.event) else { return }
    }
  }

  /// Returns whether the next step may follow.
  private func perform(_ event: Event) -> Bool {
    switch event {
    case .bodySent(let count): exchange.bodySent(count)
    case .head(let status, let fields): exchange.receiveHead(status, fields)
    case .bytes(let bytes):
      guard let room = exchange.receive(bytes), !room.isCompleted else { break }
      room.observe { [weak self] _ in self?.proceed() }
      return false
    case .end(let end): self.end(end)
    case .stall: return false
    }
    return true
  }

  /// Closes the connection because of a cancellation.
  func stop() {
    if case .never = closing { return }
    let timer = state.withLock { state in
      state.isStopped = true
      return state.timer.take()
    }
    timer?.cancel()
    if case .after(let delay) = closing { schedule(after: delay) { $0.end(.stopped) } } else { end(.stopped) }
  }

  private func end(_ end: HTTPExchange.End) {
    let isFirst = state.withLock { state in
      defer { state.hasEnded = true }
      state.steps = []
      return !state.hasEnded
    }
    guard isFirst else { return }
    onEnd()
    exchange.end(end)
    if fault == .reportsAfterEnd || fault == .reportsTwice {
      exchange.receiveHead(.ok, [("Content-Length", "3")])
      exchange.receive(Data("abc".utf8))
    }
    if fault == .reportsTwice { exchange.end(.completed) }
  }

  private func schedule(after delay: Duration, _ body: @escaping @Sendable (SimulatedConnection) -> Void) {
    let timer = clock.schedule(after: delay) { body(self) }
    state.withLock { $0.timer = timer }
  }
}

/// The answer of a simulated server, before the faults of the network.
public struct SimulatedResponse: Sendable {
  /// The status code.
  public var status: HTTPStatus
  /// The header fields. `Content-Length` is added.
  public var fields: [(name: String, value: String)]
  /// The body.
  public var body: Data

  /// Creates a response.
  public init(_ status: HTTPStatus = .ok, _ fields: [(name: String, value: String)] = [], body: Data = Data()) {
    self.status = status
    self.fields = fields
    self.body = body
  }
}

extension SimulatedResponse {
  /// The answer to a request of a simulation: items of different sizes, with the user and the language of the request. Even items
  /// are fresh for 5 s. Every third one sets a cookie with the secret of its host. The items 2 and 6 are translated: a response in
  /// a language has `Vary`, and one in no language omits it, as some servers do (RFC 9111, section 4.1).
  static func item(_ request: HTTPRequest, secret: String) -> SimulatedResponse {
    let path = request.url?.path.description ?? "/"
    let number = Int(path.split(separator: "/").dropFirst().first.map(String.init) ?? "") ?? 0
    var fields = [
      ("Content-Type", "application/json"), ("Cache-Control", number.isMultiple(of: 2) ? "max-age=5" : "no-store"),
    ]
    .map { (name: $0.0, value: $0.1) }
    if number.isMultiple(of: 3) { fields.append(("Set-Cookie", "session=\(secret); Path=/")) }
    if number.isMultiple(of: 2) { fields.append(("ETag", "\"item-\(number)\"")) }
    var facts = "\"path\": \"\(path)\", "
    if let user = request.simulatedUser { facts += "\"user\": \(user), " }
    if number % 4 == 2, let language = request.headers["Accept-Language"] {
      facts += "\"language\": \"\(language)\", "
      fields.append(("Vary", "Accept-Language"))
    }
    let text = String(repeating: "item \(number). ", count: 1 + number * 37 % 101)
    return SimulatedResponse(.ok, fields, body: Data("{\(facts)\"text\": \"\(text)\"}".utf8))
  }
}
