// Three services run as processes on loopback. A client asks the gateway, the gateway asks `orders` and `stock`, and `orders`
// asks `stock`, which does not answer.
//
//   client ─▶ gateway ─▶ orders ─▶ stock
//                   └──────────────▶
//
// In the first run, the client disconnects. In the second run, the deadline passes in the gateway. Both times the cancellation
// request reaches every process. Then each process reports its open connections, requests and timers. The program exits
// with 1 if something is left.
//
//   swift run --package-path Examples/Gateway Gateway

import Foundation
import FutureTree
import FutureTreeAsyncHTTPClient
import FutureTreeHTTP

@main enum Gateway {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    if let service = arguments.first.flatMap({ Service(rawValue: $0) }) {
      try await service.serve(asking: arguments.dropFirst().compactMap { Int($0) })
    } else {
      exit(try await run() ? 0 : 1)
    }
  }

  /// Starts the services, and shows both runs. Returns whether nothing is left.
  private static func run() async throws -> Bool {
    var ports: [Service: Int] = [:]
    var children: [Child] = []
    defer { for child in children { child.kill() } }
    for service in Service.allCases {
      let child = try Child(service, asking: service.upstreams.compactMap { ports[$0] })
      ports[service] = child.port
      children.insert(child, at: 0)
    }

    say("The client disconnects")
    say("-----------------")
    var isClean = try await visit(children) { load in
      load.cancel(reason: "the user left")
    }
    say("The deadline passes")
    say("-------------------")
    isClean = try await visit(children) { _ in _ = try children[0].ask("advance 60") } && isClean
    return children.allSatisfy { $0.end() == 0 } && isClean
  }

  /// Asks the gateway, shows the trees of all processes, ends the visit, and shows what is left.
  private static func visit(_ children: [Child], end: (Future<HTTPResponse>) throws -> Void) async throws -> Bool {
    let client = AsyncHTTPClientLoader()
    var request = try HTTPRequest("http://127.0.0.1:\(children[0].port)/page")
    request.deadline = .after(.seconds(60), clock: StoppedClock())
    let load = (ModifyRequest.sendingDeadline() --> client).load(request)
    // When the requests have arrived at the last service, all loads wait for their responses.
    let trees = try children.reversed().map { child in
      (child.service, try child.ask("tree \(child.service == .stock ? 2 : 1)"))
    }
    for (service, tree) in trees.reversed() { show(service, tree) }

    try end(load)

    switch await load.outcome {
    case .success(let response): say("the client received \(response.status)")
    case .failure(let error): say("the load of the client failed: \(error)")
    case .cancelled(let reason): say("the client cancelled: \(reason.message)")
    }
    say("")
    try await client.shutdown().value
    var isClean = true
    for child in children {
      let lines = try child.ask("end")
      show(child.service, lines)
      isClean = isClean && lines.last == "\(Records.Counts())"
    }
    return isClean
  }

  private static func show(_ service: Service, _ lines: [String]) {
    say("\(service)")
    for line in lines { say("  " + line) }
    say("")
  }
}

/// A clock that does not advance, so that each run sends the same deadline.
private struct StoppedClock: FutureClock {
  var now: Duration { .zero }

  func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer { FutureTimer {} }
}
