import ExampleSupport
import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeTesting
import Synchronization

/// Replaces a browser and its user: it follows the page to the redirect URI and passes the URI to the app.
struct Browser: Sendable {
  let loader: any HTTPLoader

  func open(_ page: URL) throws -> Future<URL> {
    loader.load(try HTTPRequest(page.absoluteString)).validated { $0.code == 302 }.map { response in
      guard let url = response.headers["Location"].flatMap({ URL(string: $0) }) else { throw URLError(.badURL) }
      return url
    }
  }
}

/// A clock that the example advances, and that reports when a timer is set.
final class Time: FutureClock {
  private let clock = ManualClock()
  private let awaited = Mutex<[(duration: Duration, promise: Promise<Void>)]>([])

  var now: Duration { clock.now }

  func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
    let timer = clock.schedule(after: duration, body)
    let reached = awaited.withLock { awaited in
      let reached = awaited.filter { $0.duration == duration }
      awaited.removeAll { $0.duration == duration }
      return reached.map(\.promise)
    }
    for promise in reached { promise.succeed() }
    return timer
  }

  /// Returns a future that completes when the next timer with this duration is set.
  func timer(of duration: Duration) -> Future<Void> {
    let promise = Promise<Void>()
    awaited.withLock { $0.append((duration, promise)) }
    return promise.future
  }

  func pass(_ duration: Duration) { clock.advance(by: duration) }
}

/// The lines of the log. Concurrent loads write in any order, so the lines are shown by the numbers of the loads.
final class Journal: Sendable {
  private let lines = Mutex<(all: [String], shown: Int)>(([], 0))

  func write(_ line: String) { lines.withLock { $0.all.append(line) } }

  /// Returns the number of lines that contain one of these texts.
  func count(of texts: [String]) -> Int {
    lines.withLock { $0.all }.count { line in texts.contains { line.contains($0) } }
  }

  /// Prints the lines since the last call, without source line numbers, which change with each edit.
  func show() {
    let lines = lines.withLock { lines in
      defer { lines.shown = lines.all.count }
      return lines.all.dropFirst(lines.shown)
    }
    let numbered = lines.enumerated().map { (Int($1.dropFirst().prefix { $0 != "]" }) ?? 0, $0, $1) }
    for (_, _, line) in numbered.sorted(by: { ($0.0, $0.1) < ($1.0, $1.1) }) {
      let line = line.replacing(/:[0-9]+\)$/, with: ")")
      say("  log: \(line)")
    }
  }
}

/// Prints the outcomes of loads, in this order.
func report<Value: Sendable>(_ loads: [(name: String, future: Future<Value>)], _ text: (Value) -> String) async {
  for load in loads {
    switch await load.future.outcome {
    case .success(let value): say("\(load.name): \(text(value))")
    case .failure(let error):
      say("\(load.name): failed, \((error as? HTTPError)?.code.description ?? "\(type(of: error))")")
    case .cancelled(let reason): say("\(load.name): cancelled, \(reason.message)")
    }
  }
}
