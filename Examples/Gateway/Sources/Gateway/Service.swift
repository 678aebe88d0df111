import Foundation
import FutureTree
import FutureTreeAsyncHTTPClient
import FutureTreeHTTP
import FutureTreeHummingbird
import Hummingbird
import Logging
import NIOCore

/// One of the three services.
enum Service: String, CaseIterable {
  case stock
  case orders
  case gateway

  /// The services that this one asks, in order.
  var upstreams: [Service] {
    switch self {
    case .stock: []
    case .orders: [.stock]
    case .gateway: [.orders, .stock]
    }
  }

  /// Serves until the standard input ends.
  ///
  /// - Parameter ports: The ports of the services that this one asks.
  func serve(asking ports: [Int]) async throws {
    let records = Records()
    let backend = ModifyRequest.sendingDeadline() --> AsyncHTTPClientLoader()
    let router = Router(context: PageContext.self)
    router.future(.get, "page") { [self] _, context in
      let api = context.outgoing --> backend
      let work = ports.isEmpty ? held() : try answer(from: api, ports)
      records.begin(work)
      return work
    }
    let app = Application(
      router: router,
      server: .http1(
        configuration: .init(additionalChannelHandlers: [ClientDisconnectHandler(), ConnectionRecorder(records)])),
      configuration: .init(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { channel in
        say("\(channel.localAddress!.port!)")  // The channel is bound to a TCP address.
        Thread.detachNewThread { obey(records) }
      },
      logger: Logger(label: rawValue) { _ in SwiftLogNoOpLogHandler() })
    try await PageContext.$records.withValue(records) { try await app.run() }
  }

  /// Returns work that does not complete until it is cancelled.
  private func held() -> Future<String> {
    let promise = Promise<String>()
    promise.onRequestCancel { _ in .complete(.cancelled) }
    // The handler of the promise does not retain it, so the future does.
    return promise.future.named("stock").ensure { _ = promise }.named("answer of stock")
  }

  private func answer(from api: any HTTPLoader, _ ports: [Int]) throws -> Future<String> {
    let loads = try zip(upstreams, ports).map { service, port in
      api.load(try FutureTreeHTTP.HTTPRequest("http://127.0.0.1:\(port)/page")).named("load of \(service)")
    }
    return Future.all(loads).map { responses in
      responses.map { "\($0.status)" }.joined(separator: " ")
    }.named("answer of \(self)")
  }
}

/// The context of a request. Its deadline is on the clock of the records.
struct PageContext: FutureRequestContext {
  @TaskLocal static var records = Records()

  var coreContext: CoreRequestContextStorage
  var incoming: IncomingRequest

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    incoming = IncomingRequest(source: source, clock: PageContext.records)
  }
}

// MARK: - Commands

/// Follows commands from the standard input until it ends. The last line of each answer is empty.
private func obey(_ records: Records) {
  while let line = readLine() {
    let parts = line.split(separator: " ")
    let number = parts.count > 1 ? Int(parts[1])! : 0  // The same program writes the commands.
    switch parts[0] {
    case "tree":
      // A handler sets a timer for its deadline when it has returned its future.
      _ = try? records.reaching { $0.timers == number }.wait(for: .seconds(60))
      for work in records.works { say("\(work.tree())") }
      say("\(records.counts)")
    case "advance": records.advance(by: .seconds(number))
    case "end":
      _ = try? records.reaching { $0 == Records.Counts() }.wait(for: .seconds(60))
      for work in records.works {
        if case .cancelled(let reason)? = work.outcomeIfCompleted { say("cancelled: \(reason.message)") }
      }
      say("\(records.counts)")
      records.forgetWorks()
    default: preconditionFailure("An unknown command: \(line)")
    }
    say("")
  }
  exit(0)
}

func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
