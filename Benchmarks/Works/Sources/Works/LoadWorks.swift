import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeHTTPTesting

/// Loads through ten layers.
extension OurWorks {
  /// The works of this file, by the names that `run` takes.
  static let loads: [(name: String, work: Work)] =
    [
      ("layers", layers), ("layers-throttled", cancelled(.throttled())), ("layers-backoff", cancelled(.backingOff())),
      ("layers-wire", cancelled(.onWire())), ("layers-cookies", cookies), ("layers-hit", cached("max-age=60")),
      ("layers-miss", cached("max-age=0")), ("phase", phase),
    ]
    + [300, 3000, 100_000].flatMap { count in
      [("loads-\(count)", cancelAll(count)), ("reset-\(count)", reset(count))]
    }

  /// One load, which a `MockLoader` answers at once.
  public static let layers = answered { $0 }

  /// The same with a jar that has three cookies for the host.
  private static let cookies = answered { end in
    let jar = CookieJar()
    do {
      let url = try HTTPURL("http://example.com/")
      for name in ["session", "theme", "language"] { jar.store("\(name)=1; Path=/; Max-Age=3600", from: url) }
    } catch { preconditionFailure("\(error)") }
    return StoreCookies(in: jar) --> end
  }

  /// The same with a cache. A response with `max-age=60` is answered from it, and one with `max-age=0` is stored again by each load.
  private static func cached(_ control: String) -> Work {
    answered([("Cache-Control", control)]) { end in CacheResponses(in: HTTPCache()) --> end }
  }

  private static func answered(
    _ fields: [(String, String)] = [], _ inserted: @escaping @Sendable (any HTTPLoader) -> any HTTPLoader
  ) -> Work {
    Work("load", operations: 100) { () -> LoadChain in
      let mock = MockLoader()
      do {
        mock.onOthers(.respond(headers: try HTTPHeaders(NameValuePairs(fields)), body: Data("hello".utf8)))
      } catch { preconditionFailure("\(error)") }
      return LoadChain(before: inserted(mock))
    } repeating: { chain in
      let request = LoadChain.request(0)
      for _ in 0..<100 {
        chain.loader.load(request).observe { outcome in
          if case .success(let response) = outcome { consume(response.bodySize) }
        }
      }
    }
  }

  /// A transport reports the next step of a load that nobody looks at.
  private static let phase = Work("phase", operations: 1000) { () -> (HTTPExchange, Future<HTTPResponse>) in
    let limits = HTTPExchange.Limits(timeout: nil, idleTimeout: nil, maximumBodySize: 0)
    do {
      let exchange = try HTTPExchange(of: LoadChain.request(0), limits)
      return (exchange, exchange.start(in: LiveLoads()) {})
    } catch { preconditionFailure("\(error)") }
  } repeating: { exchange, _ in
    for _ in 0..<500 {
      exchange.begin(.connecting)
      exchange.begin(.sending)
    }
  }

  /// A load that is cancelled while a layer or the transport holds it.
  private static func cancelled(_ chain: @escaping @autoclosure @Sendable () -> LoadChain) -> Work {
    Work("load", operations: 100, preparing: chain) { chain in
      let request = LoadChain.request(0)
      for _ in 0..<100 {
        let load = chain.loader.load(request)
        load.observe(consumeCancellation)
        load.cancel()
      }
    }
  }

  /// Loads in flight at the same time, from the first to the last cancellation.
  private static func cancelAll(_ count: Int) -> Work {
    Work("load", operations: count) {
      (chain: LoadChain.onWire(limit: count, clock: StoppedClock()), requests: (1...count).map(LoadChain.request))
    } repeating: { prepared in
      for load in prepared.chain.begin(prepared.requests) { load.cancel() }
      prepared.chain.checkIsIdle()
    }
  }

  /// A reset while these loads are in flight.
  private static func reset(_ count: Int) -> Work {
    Work("load", operations: count) { () -> LoadChain in
      let chain = LoadChain.onWire(limit: count, clock: StoppedClock())
      _ = chain.begin((1...count).map(LoadChain.request))
      return chain
    } repeating: { chain in
      chain.loader.reset()
      chain.checkIsIdle()
    }
  }
}

/// Ten layers before a loader.
private struct LoadChain: Sendable {
  let loader: any HTTPLoader
  private var transport: SilentTransport?

  init(before end: any HTTPLoader, limit: Int = 4, clock: any FutureClock = .system) {
    do { loader = try LoadChain.layers(limit, clock, before: end) } catch { preconditionFailure("\(error)") }
  }

  private static func layers(
    _ limit: Int, _ clock: any FutureClock, before end: any HTTPLoader
  ) throws -> any HTTPLoader {
    try ResetGuard() --> Autocancel(clock: clock) --> Log { _ in }
      --> ApplyEnvironment(ServerEnvironment(host: "example.com")) --> Coalesce() --> Retry(clock: clock)
      --> BearerAuth(BearerToken("token")) --> Throttle(limit) --> Timeout(attempt: .seconds(30), clock: clock)
      --> Redirect() --> end
  }

  static func onWire(limit: Int = 4, clock: any FutureClock = .system) -> LoadChain {
    let transport = SilentTransport()
    var chain = LoadChain(before: transport, limit: limit, clock: clock)
    chain.transport = transport
    return chain
  }

  /// Returns a chain whose throttle has no free slot.
  static func throttled() -> LoadChain {
    let chain = onWire()
    _ = chain.begin((1...4).map(request))
    return chain
  }

  /// Returns a chain in which every attempt fails and no back-off ends.
  static func backingOff() -> LoadChain {
    let mock = MockLoader()
    mock.onOthers(.status(.serviceUnavailable))
    return LoadChain(before: mock, clock: StoppedClock())
  }

  func begin(_ requests: [HTTPRequest]) -> [Future<HTTPResponse>] {
    requests.map { request in
      let load = loader.load(request)
      load.observe(consumeCancellation)
      return load
    }
  }

  func checkIsIdle() {
    precondition(transport?.live.count == 0, "a load is still in flight")
  }

  /// Returns a different request for each number.
  static func request(_ number: Int) -> HTTPRequest {
    do { return try HTTPRequest("http://localhost/\(number)") } catch { preconditionFailure("\(error)") }
  }
}

/// A transport that never answers, and confirms each cancellation at once.
private final class SilentTransport: HTTPLoader {
  let live = LiveLoads()

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    let promise = Promise<HTTPResponse>()
    promise.onRequestCancel { _ in
      promise.complete(.cancelled)  // The handler holds the promise until then.
      return .continue
    }
    return live.track(promise.future)
  }

  func reset() -> Future<Void> { live.drain() }
}

/// A clock whose timers never fire.
private struct StoppedClock: FutureClock {
  var now: Duration { .zero }

  /// Returns a timer that retains the body, because a back-off whose body is released ends with an error.
  func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
    FutureTimer { withExtendedLifetime(body) {} }
  }
}

@Sendable private func consumeCancellation(_ outcome: Outcome<HTTPResponse>) {
  if case .cancelled = outcome { consume(1) }
}
