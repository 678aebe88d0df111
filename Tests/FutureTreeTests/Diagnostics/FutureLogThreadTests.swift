import FutureTree
import FutureTreeTesting
import Synchronization
import TestSupport
import Testing

@Suite("Event log: user code and threads") struct FutureLogThreadTests {
  /// A clock that calls the library whenever it is read.
  private final class NosyClock: FutureClock {
    private let body = Locked<(@Sendable () -> Void)?>(nil)
    private let depth = Atomic(0)
    let asked = Atomic(0)

    func set(_ body: @escaping @Sendable () -> Void) { self.body.value = body }

    var now: Duration {
      asked.add(1, ordering: .relaxed)
      if depth.add(1, ordering: .relaxed).newValue == 1 { body.value?() }
      depth.subtract(1, ordering: .relaxed)
      return .zero
    }

    func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
      FutureTimer {}
    }
  }

  @Test("The clock is read and errors are described outside every lock, and both can use logged futures")
  func noLock() {
    let clock = NosyClock()
    let log = FutureLog(clock: clock)
    let promise = Promise<Int>()
    promise.onRequestCancel { _ in .continue }
    let load = promise.future.named("load")
    clock.set {
      onAnotherThread { _ = (load.tree(), log.text(), load.cancelRequest) }
      load.observe { _ in }
    }

    load.logged(in: log)
    let page = load.map { $0 }.named("page")
    let inner = load.flatMap { _ in page }
    let joined = Future.all([page, inner])
    page.cancel(.doNotForwardIfOthersWaiting)
    joined.cancel()
    let box = Locked<Future<Int>?>(load)
    promise.fail(NosyError("nosy") { _ = (log.events, box.value?.named("again"), box.value?.cancel()) })

    #expect(log.events.contains { $0.fact == .failed("nosy") })
    expectEqual(clock.asked.load(ordering: .relaxed), log.events.count + 1)
    // The error retains its future, and the clock retains its log.
    box.value = nil
    clock.set {}
    withExtendedLifetime((page, inner, joined)) {}
  }

  @Test("A completion made by the clock during an event is delivered and logged")
  func completing() {
    let clock = NosyClock()
    let log = FutureLog(clock: clock)
    let promise = Promise<Int>()
    let load = promise.future.logged(in: log)
    let heard = Recorder()
    clock.set { promise.succeed(1) }

    let page = load.map { $0 + 1 }
    page.observe { heard("\($0)") }

    expectEqual(heard.entries, ["success(2)"])
    expectEqual(log.events.map(\.fact), [.joined, .created, .linked(to: 1), .succeeded, .succeeded])
    clock.set {}
    withExtendedLifetime(page) {}
  }

  private final class Round: Sendable {
    let log = FutureLog()
    let promise = Promise<Int>()
    let made = Locked<[Future<Int>]>([])

    init() { promise.future.logged(in: log) }
  }

  @Test("The log records the events of each future once and in order on any threads", .timeLimit(.minutes(20)))
  func order() {
    let wrong = Locked<[String]>([])
    race(
      rounds: 3_000, Round.init,
      {
        [
          { round in
            var tail = round.promise.future
            for _ in 0..<4 { tail = tail.map { $0 } }
            round.made.withLock { $0.append(tail) }
          },
          { round in
            let branch = round.promise.future.map { $0 }
            branch.cancel(.doNotForwardIfOthersWaiting, reason: "enough")
            round.made.withLock { $0.append(branch) }
          },
          { round in round.promise.succeed(1) },
        ]
      },
      check: { round, number in
        for problem in FutureLogThreadTests.problems(in: round.log.events) {
          wrong.withLock { $0.append("round \(number): \(problem)") }
        }
      })

    expectEqual(wrong.value.prefix(3), [])
  }

  /// Returns the contradictions in a log of six completed futures.
  private static func problems(in events: [FutureEvent]) -> [String] {
    let lives = Dictionary(grouping: events, by: \.future)
    var problems = lives.count == 6 ? [] : ["\(lives.count) futures"]
    let ends = lives.mapValues { life in life.first { isEnd($0.fact) }?.number ?? .max }
    for (future, life) in lives {
      let facts = life.map(\.fact)
      if facts.first != (future == 1 ? .joined : .created) { problems.append("\(future) begins with \(facts)") }
      if facts.count(where: isEnd) != 1 { problems.append("\(future) ends \(facts)") }
      if let end = facts.firstIndex(where: isEnd), facts[(end + 1)...].contains(where: { $0 != .released }) {
        problems.append("\(future) goes on after its end: \(facts)")
      }
      for case .linked(let input) in facts where facts.contains(.succeeded) {
        if ends[input, default: .max] > ends[future, default: 0] { problems.append("\(future) ends before \(input)") }
      }
    }
    return problems
  }

  private static func isEnd(_ fact: FutureEvent.Fact) -> Bool {
    switch fact {
    case .succeeded, .failed, .cancelled: true
    default: false
    }
  }
}
