import Foundation
import FutureTree
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import FutureTreeOAuth2
import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeTransportTesting

/// The layers of the package in simulated worlds. `FUTURETREE_WORLDS` sets their number, and `FUTURETREE_SEED` the first.
@Suite("Simulation: chains of the package")
struct SimulatedChainsTests {
  private static let count = LongTest.number("FUTURETREE_WORLDS") ?? LongTest.count(2_400, small: 250)
  private static let firstSeed = LongTest.number("FUTURETREE_SEED") ?? 0

  private typealias Scenario = (SimulatedWorld) throws -> any HTTPLoader

  /// Each chain gets an equal part of the worlds. `Resume` is not among them: it copies bodies in tasks.
  private static var chains: [Scenario] {
    [whole, caching, cachingOnDisk, resilient, authorized, checkout, shared]
  }

  @Test("In every world, each chain keeps the HTTP contract")
  func everyChain() throws {
    var report = SimulationReport()
    let each = Self.count / Self.chains.count + 1
    for (index, scenario) in Self.chains.enumerated() {
      let first = UInt64(Self.firstSeed + index * 1_000_000)
      report.add(try Simulation.run(seeds: first..<first + UInt64(each), scenario))
    }
    print("simulation: \(report)")
    let smallest = try #require(report.smallestCount)
    if Self.count >= 2_000 { #expect(smallest >= 20) }
  }

  @Test("A request that a reset withholds ends its caller before the connection is closed")
  func withheldByReset() throws {
    try Simulation.run(seeds: 210_830_473..<210_830_474, Self.resilient)
  }

  @Test("The connection of an attempt that failed can close after the load, and after its slot is used again")
  func failedAttempt() throws {
    try Simulation.run(seeds: 503_016_079..<503_016_080, Self.resilient)
    try Simulation.run(seeds: 600_018_700..<600_018_701) { Self.whole($0) }
  }

  @Test("The order of a payment that was cancelled is received as a whole before the payment begins")
  func wholeOrder() throws {
    try Simulation.run(seeds: 605_003_457..<605_003_458, Self.checkout)
  }

  @Test("A seed always gives the same world")
  func deterministic() throws {
    let lines = try (0..<2).map { _ in
      let lines = Recorder()
      try Simulation.run(seeds: 40..<60) { world in
        Self.whole(world, log: { lines($0) })
      }
      return lines.entries
    }

    #expect(lines[0] == lines[1] && lines[0].count > 50)
  }

  @Test("A 401 of another origin rejects no token, also if the load is shared")
  func foreignUnauthorized() throws {
    try Simulation.run(
      seeds: 0..<UInt64(LongTest.count(150, small: 50)), faults: SimulatedFault.allCases.filter { $0 != .unauthorized }
    ) { world in
      world.network.respond { request, usual in
        request.url?.host == "other.example" ? SimulatedResponse(.unauthorized) : usual
      }
      let (token, refreshes) = (world.secret(of: "a.example"), Recorder())
      world.expect("no token was rejected") { refreshes.entries.isEmpty }
      let refresh = RefreshOnUnauthorized(
        try BearerToken(token), for: .origins(try HTTPURL("https://a.example"))
      ) { _ in
        refreshes("refresh")
        return .succeeded(try BearerToken(token))
      }
      return refresh --> Coalesce() --> Redirect() --> world.network
    }
  }

  @Test("A response without `Vary` never hides a fresh one in the language of the request")
  func languages() throws {
    try Simulation.run(
      seeds: 0..<UInt64(LongTest.count(300, small: 100)), faults: [.reordered, .slowBody, .resetInBody]
    ) { world in
      world.expectBackgroundLoads()
      let translations = Translations(clock: world.clock)
      world.expect("no translation is hidden") { translations.hiddenCount == 0 }
      return translations --> CacheResponses(in: HTTPCache(date: world.date)) --> world.network
    }
  }

  // MARK: - Chains

  private static func whole(_ world: SimulatedWorld) -> any HTTPLoader { whole(world, log: { _ in }) }

  private static func whole(
    _ world: SimulatedWorld, log: @escaping @Sendable (String) -> Void
  ) -> any HTTPLoader {
    world.uses("ResetGuard", "Autocancel", "Log", "Retry", "Throttle", "Timeout", "Redirect", "StoreCookies")
    world.expectRefusals()
    let throttle = Throttle(2, perHost: 1, aging: .seconds(5), clock: world.clock)
    let retry = Retry(clock: world.clock, date: world.date, random: world.random)
    world.expect("no slot is taken") { throttle.isIdle }
    world.expect("no slot is shared, also by streams") { world.network.largestOpenCount <= 3 }
    world.expect("no load waits for a retry") { retry.waitingCount == 0 }
    let logging = Log(
      { line in
        world.log(line)
        log(line)
      }, clock: world.clock)
    return ResetGuard() --> Autocancel(clock: world.clock) --> logging --> retry --> throttle
      --> Timeout(total: .seconds(60), attempt: .seconds(15), idle: .seconds(10), clock: world.clock)
      --> Redirect() --> StoreCookies(in: CookieJar(date: world.date)) --> world.network
  }

  private static func caching(_ world: SimulatedWorld) throws -> any HTTPLoader {
    world.uses("Coalesce", "CacheResponses", "StoreCookies", "Autocancel", "ResetGuard")
    let cache = HTTPCache(date: world.date)
    let coalesce = Coalesce(linger: .seconds(2), clock: world.clock)
    return try caching(world, cache, coalesce)
  }

  private static func cachingOnDisk(_ world: SimulatedWorld) throws -> any HTTPLoader {
    world.uses("Coalesce", "CacheResponses", "HTTPCache in files", "StoreCookies")
    let cache = try HTTPCache(directory: world.directory, date: world.date, on: .immediate) { fault in
      world.log("\(fault)")
    }
    return try caching(world, cache, Coalesce())
  }

  private static func caching(
    _ world: SimulatedWorld, _ cache: HTTPCache, _ coalesce: Coalesce
  ) throws -> any HTTPLoader {
    world.expectBackgroundLoads()
    world.expectRefusals()
    let jar = CookieJar(date: world.date)
    world.network.respond { _, usual in
      var answer = usual
      if answer.fields.contains(where: { $0.name == "ETag" }) {
        answer.fields.append(("Cache-Control", "stale-while-revalidate=10, stale-if-error=20"))
      }
      return answer
    }
    world.expect("no load is shared") { coalesce.flightCount == 0 }
    return ResetGuard() --> Autocancel(clock: world.clock) --> coalesce --> CacheResponses(in: cache)
      --> StoreCookies(in: jar) --> world.network
  }

  /// The order of the guide *Policies*: `Redirect` is part of the shared load.
  private static func shared(_ world: SimulatedWorld) throws -> any HTTPLoader {
    world.uses("Coalesce", "Retry", "RefreshOnUnauthorized", "Throttle", "Redirect")
    world.expectRefusals()
    let (coalesce, throttle) = (Coalesce(), Throttle(2, clock: world.clock))
    world.expect("no load is shared") { coalesce.flightCount == 0 }
    world.expect("no slot is taken") { throttle.isIdle }
    let token = world.secret(of: "a.example")
    let refresh = RefreshOnUnauthorized(
      try BearerToken(token), for: .origins(try HTTPURL("https://a.example"))
    ) { _ in .succeeded(try BearerToken(token + "-new")) }
    return ResetGuard() --> Autocancel(clock: world.clock) --> coalesce
      --> Retry(clock: world.clock, date: world.date, random: world.random) --> refresh --> throttle --> Redirect()
      --> world.network
  }

  private static func resilient(_ world: SimulatedWorld) throws -> any HTTPLoader {
    world.uses("CircuitBreaker", "Hedge", "Retry", "Throttle", "RequestMetrics")
    world.expectRefusals()
    let throttle = Throttle(3, clock: world.clock)
    let breaker = CircuitBreaker(CircuitThreshold(of: 3), openDuration: .seconds(4), clock: world.clock)
    world.expect("no slot is taken") { throttle.isIdle }
    let metrics = RequestMetrics(clock: world.clock, random: world.random) { world.log("\($0)") }
    return ResetGuard() --> Autocancel(clock: world.clock) --> metrics
      --> Retry(clock: world.clock, date: world.date, random: world.random) --> breaker
      --> Hedge(after: .constant(.milliseconds(60)), clock: world.clock) --> throttle --> world.network
  }

  private static func authorized(_ world: SimulatedWorld) throws -> any HTTPLoader {
    world.uses("RefreshOnUnauthorized", "BasicAuth", "Redirect", "Throttle")
    world.expectRefusals()
    let throttle = Throttle(2, clock: world.clock)
    world.expect("no slot is taken") { throttle.isIdle }
    let secrets = ["a.example", "b.example"].map { world.secret(of: $0) }
    world.network.respond { request, usual in
      request.url?.path.description == "/token" ? SimulatedResponse(.ok, body: Data("new".utf8)) : usual
    }
    let refresh = RefreshOnUnauthorized(
      try BearerToken(secrets[0]), for: .origins(try HTTPURL("https://a.example")), clock: world.clock
    ) { loader in
      loader.load(try HTTPRequest("https://a.example/token")).validated().map { _ in
        try BearerToken("\(secrets[0])-new")
      }
    }
    let basic = BasicAuth(
      try BasicCredentials(userName: "user", password: secrets[1]), for: .origins(try HTTPURL("https://b.example")))
    return ResetGuard() --> Autocancel(clock: world.clock) --> Redirect() --> refresh --> basic --> throttle
      --> world.network
  }

  /// Orders with a compensation: see `CheckoutLoader`.
  private static func checkout(_ world: SimulatedWorld) throws -> any HTTPLoader {
    world.uses("CancelScope", "Throttle", "ResetGuard", "Autocancel")
    let throttle = Throttle(2, clock: world.clock)
    let api = ResetGuard() --> Autocancel(clock: world.clock) --> throttle --> world.network
    let loader = CheckoutLoader(api: api, clock: world.clock)
    world.expect("no slot is taken") { throttle.isIdle }
    world.expect("each order was committed or undone, once") { loader.openOrders == 0 }
    return loader
  }
}

/// Sends each POST as an order in a scope: if the payment that follows does not succeed, the order is undone.
private final class CheckoutLoader: HTTPLoader {
  private let api: any HTTPLoader
  private let clock: ManualClock
  private let orders = Locked(0)

  init(api: any HTTPLoader, clock: ManualClock) {
    self.api = api
    self.clock = clock
  }

  var openOrders: Int { orders.value }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    guard request.method == .post else { return api.load(request) }
    var request = request
    request.delivery = .buffered()  // A stream that nobody reads would stay open.
    let scope = api.scope("checkout", undoTimeout: .seconds(10), clock: clock)
    let order = scope.run { [request] in api.load(request) }
    order.observe { [orders] in if case .success = $0 { orders.withLock { $0 += 1 } } }
    scope.undo(of: order) { [api, orders] _ in
      orders.withLock { $0 -= 1 }
      return api.load(try HTTPRequest("https://a.example/undo/order"))
    }
    let payment = scope.run { order.flatMap { [api] _ in api.load(try HTTPRequest("https://a.example/payment/1")) } }
    payment.observe { [orders] outcome in
      if case .success = outcome, (try? scope.commit()) != nil { orders.withLock { $0 -= 1 } }
      scope.end()
    }
    return payment
  }

  func reset() -> Future<Void> { api.reset() }
}

/// Counts responses in no language to requests in a language for which a response was stored less than 5 seconds ago.
private final class Translations: HTTPLayer {
  private struct State {
    /// When the requests were sent whose responses are stored.
    var stored: [String: Duration] = [:]
    var hiddenCount = 0
  }

  private let clock: ManualClock
  private let state = Locked(State())

  init(clock: ManualClock) { self.clock = clock }

  var hiddenCount: Int { state.value.hiddenCount }

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    guard request.method.isSafe else {
      forget()
      let load = next.load(request)
      load.observe { [self] _ in forget() }
      return load
    }
    let language = request.headers["Accept-Language"] ?? ""
    let (now, key) = (clock.now, "\(request) \(request.credentials) \(language)")
    let isStored = state.value.stored[key].map { now < $0 + .seconds(5) } ?? false
    let load = next.load(request)
    guard request.method == .get, request.caching == .standard, !language.isEmpty else {
      return load
    }
    load.observe { [state] outcome in
      guard case .success(let response) = outcome, let body = try? response.body else { return }
      let isTranslated = String(decoding: body, as: UTF8.self).contains("\"language\": \"\(language)\"")
      let status = response.headers["Cache-Status"] ?? ""
      state.withLock { state in
        if isStored, !isTranslated { state.hiddenCount += 1 }
        if isTranslated, status.hasSuffix("stored") { state.stored[key] = now }
      }
    }
    return load
  }

  func wipe(_ notes: ResetNotes) -> Future<Void> {
    forget()
    return .succeeded
  }

  private func forget() { state.withLock { $0.stored = [:] } }
}
