import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTransportTesting
import TestSupport
import Testing

/// In processes of their own, because a run counts the resources of its process.
@Suite("TransportLoad", .onSockets, .timeLimit(.minutes(20))) struct TransportLoadTests {
  @Test("A transport that leaks descriptors has leftovers, and a correct one has none")
  func descriptors() async {
    await #expect(processExitsWith: .success) {
      let (loads, leaked) = (Locked(0), Locked<[FileHandle]>([]))
      let leaking = FaultyTransport { request, base in
        let number = loads.withLock { count in
          count += 1
          return count
        }
        if number.isMultiple(of: 10), let file = FileHandle(forReadingAtPath: "/dev/null") {
          leaked.withLock { $0.append(file) }
        }
        return base.load(request)
      }

      let faulty = try await TransportLoad("leaking", clock: ImpatientClock()) { leaking }.run(cancelled: 200)
      let correct = try await TransportLoad("correct", clock: ImpatientClock()) {
        SystemLoader(.init(timeout: nil))
      }
      .run(cancelled: 200)

      #expect(faulty.leftovers.contains { $0.hasSuffix("descriptors are left. The tolerance is 16.") }, "\(faulty)")
      #expect(!faulty.isClean)
      #expect(!correct.leftovers.contains { $0.contains("descriptors") }, "\(correct)")
      #expect(correct.faults.isEmpty && correct.count == 400, "\(correct)")
    }
  }

  @Test("A transport that takes a cut body for a whole body has faults")
  func faults() async {
    await #expect(processExitsWith: .success) {
      let load = TransportLoad("faulty", clock: ImpatientClock()) {
        FaultyTransport { request, base in
          base.load(request).recover { error in
            guard (error as? HTTPError)?.code == .truncatedBody else { throw error }
            return HTTPResponse(to: request, status: .ok)
          }
        }
      }

      let report = try await load.run(mixed: 200)

      #expect(report.faults.contains("cut ended with succeeded"), "\(report)")
      #expect(report.faults.contains { $0.contains("other bytes than the 20000") }, "\(report)")
      #expect(!report.isClean)
    }
  }

  @Test("A transport that cancels every load has faults")
  func cancelsAll() async {
    struct Lazy: HTTPLoader {
      func load(_ request: HTTPRequest) -> Future<HTTPResponse> { .cancelled("lazy") }
      func reset() -> Future<Void> { .succeeded }
    }
    await #expect(processExitsWith: .success) {
      let load = TransportLoad("lazy", clock: ImpatientClock()) { Lazy() }
      let report = try await load.run(mixed: 200)
      let cancelled = try await load.run(cancelled: 20)

      #expect(report.faults.contains("request ended with cancelled"), "\(report)")
      #expect(cancelled.faults.contains("cancelledRequest ended with cancelled without a request"), "\(cancelled)")
      #expect(cancelled.faults.contains("cancelledStream ended with cancelled without a request"), "\(cancelled)")
      #expect(report.faults.contains("upload never succeeded") || report.faults.count == 20, "\(report)")
    }
  }

  @Test("Invalid arguments are refused", arguments: [[], ["--cancelled"], ["--cancelled", "0"], ["--other", "1"]])
  func arguments(arguments: [String]) async {
    let load = TransportLoad("unused") { SystemLoader(.init(timeout: nil)) }

    await expectEqual(load.run(arguments: arguments), 64)
  }

  @Test("A run that cannot begin ends the program with 1")
  func noTransport() async {
    struct Broken: Error {}
    let load = TransportLoad("broken") { throw Broken() }

    await expectEqual(load.run(arguments: ["--cancelled", "1"]), 1)
  }
}

/// The system clock, whose timers of seconds fire at once, except for the time limit of a load.
private struct ImpatientClock: FutureClock {
  var now: Duration { SystemClock().now }

  func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
    SystemClock().schedule(after: duration == .seconds(6) ? .zero : duration, body)
  }
}
