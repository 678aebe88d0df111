import FutureTree
import FutureTreeHTTP
import Hummingbird
import Logging
import NIOConcurrencyHelpers

/// A web page that shows the pending futures of this process while it runs.
///
/// ```swift
/// let inspector = Inspector()
/// inspector.add(feed)
/// inspector.add(throttle, named: "API")
/// try await inspector.serve(port: 8089) { print($0) }  // http://127.0.0.1:8089/5f0c…/
/// ```
///
/// The page lists each added future and every future connected with it: its state, its age, its consumers, and the requests that it
/// received or withholds, with their reasons. It can be sorted by age and by consumers, and filtered. For a selected future, it shows
/// the receipts that `cancel` would return, and the page of its tree. It shows the throttles and their queues.
///
/// **Access.** The server listens on 127.0.0.1 only. The address contains a random token. Requests with another host, which a name
/// that resolves to 127.0.0.1 would send, and requests of other origins are refused. Names and reasons of the program are shown as
/// text. Do not forward the port to other machines: the page shows names, reasons and errors of the program.
///
/// **Cost.** Without an open page, an inspector does nothing. The page is updated every `interval`, and less often if the updates would
/// take more than 5% of the time of one thread. It retains no future.
public final class Inspector: Sendable {
  private struct State {
    var throttles: [(name: String, throttle: Throttle)] = []
    var openPages = 0
  }

  /// The futures of the page.
  public let forest: FutureForest
  let allowsCancellation: Bool
  let interval: Duration
  let token: String
  private let state = NIOLockedValueBox(State())

  /// Creates an inspector.
  ///
  /// - Parameters:
  ///   - allowsCancellation: Whether the page can cancel futures. Defaults to `false`.
  ///   - interval: The shortest time between two updates of a page. Defaults to half a second. Values below 10 milliseconds are
  ///     treated as 10 milliseconds.
  ///   - clock: The clock of the ages.
  public init(
    allowsCancellation: Bool = false, interval: Duration = .milliseconds(500), clock: any FutureClock = .system
  ) {
    forest = FutureForest(clock: clock)
    self.allowsCancellation = allowsCancellation
    self.interval = max(interval, .milliseconds(10))
    // The generator of the system is suitable for secrets.
    token = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
      .map { String($0 / 16, radix: 16) + String($0 % 16, radix: 16) }.joined()
  }

  /// Adds a future. The page shows it, and every future connected with it, while it is pending.
  public func add<Value>(_ root: Future<Value>) { forest.add(root) }

  /// Adds a throttle. The page shows its limit, the number of its requests in flight, and its queue. The inspector retains it.
  public func add(_ throttle: Throttle, named name: String) {
    state.withLockedValue { $0.throttles.append((name, throttle)) }
  }

  /// Serves the page until the task is cancelled.
  ///
  /// - Parameters:
  ///   - port: The port. Defaults to 0, which takes a free one.
  ///   - onRunning: Receives the address of the page, with its token, when the server is listening.
  /// - Throws: An error of the server, for example if the port is in use.
  public func serve(port: Int = 0, onRunning: @escaping @Sendable (_ address: String) -> Void) async throws {
    let boundPort = NIOLockedValueBox(port)
    let routes = InspectorRoutes(inspector: self, port: { boundPort.withLockedValue { $0 } })
    let app = Application(
      router: routes.router(), configuration: .init(address: .hostname("127.0.0.1", port: port)),
      onServerRunning: { [token] channel in
        guard let port = channel.localAddress?.port else { return }
        boundPort.withLockedValue { $0 = port }
        onRunning("http://127.0.0.1:\(port)/\(token)/")
      },
      logger: Logger(label: "FutureTreeInspector") { _ in SwiftLogNoOpLogHandler() })
    try await app.run()
  }

  var throttles: [(name: String, throttle: Throttle)] { state.withLockedValue { $0.throttles } }

  /// Changes and returns the number of open pages.
  func openPages(adding change: Int) -> Int {
    state.withLockedValue { state in
      state.openPages += change
      return state.openPages
    }
  }
}
