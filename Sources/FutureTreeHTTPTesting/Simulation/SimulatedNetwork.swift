import Foundation
import FutureTree
import FutureTreeHTTP
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
