import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("Forests") struct FutureForestTests {
  private let clock = ManualClock()
  private let forest: FutureForest
  private let log = Recorder()

  init() {
    forest = FutureForest(clock: clock)
  }

  /// The numbers and the names of the futures, and their ages in seconds.
  private var now: [String] {
    let now = forest.snapshot()
    return zip(now.members, now.tree.entries).map { "\($0.number) \($1.name) \($0.age / .seconds(1))" }
  }

  private func number(of name: String) throws -> Int {
    let now = forest.snapshot()
    return now.members[try #require(now.tree.entries.firstIndex { $0.name == name })].number
  }

  @Test("A forest has each future connected with its roots, with a number that stays, and an age")
  func members() {
    let promise = source(log)
    let load = promise.future.named("load")
    let page = load.map { $0 }.named("page")
    forest.add(page)
    forest.add(page)
    expectEqual(now, ["1 page 0.0", "2 load 0.0"])

    clock.advance(by: .seconds(2))
    let badge = load.map { $0 }.named("badge")
    expectEqual(now, ["1 page 2.0", "2 load 2.0", "3 badge 0.0"])
    expectEqual(forest.snapshot().tree.entries.map(\.isMarked), [true, false, false])
    page.cancel(.doNotForwardIfOthersWaiting)
    expectEqual(now, [])  // The only root has completed.
    forest.add(badge)
    expectEqual(now, ["3 badge 0.0", "2 load 2.0"])
    promise.succeed(1)
    forest.add(badge)
    expectEqual(now, [])
  }

  @Test("A future is cancelled by its number, with a receipt as its preview")
  func cancelled() throws {
    let promise = source(log)
    let (page, badge) = (promise.future.map { $0 }.named("page"), promise.future.map { $0 }.named("badge"))
    forest.add(page)
    let number = try number(of: "badge")

    let preview = forest.previewCancel(number, .doNotForwardIfOthersWaiting)
    expectEqual(preview?.effect, .withheld(by: 1))
    #expect(!badge.isCompleted)
    let receipt = forest.cancel(number, .doNotForwardIfOthersWaiting, reason: "an operator asked")
    expectEqual(receipt, preview)
    expectEqual(badge.outcomeIfCompleted?.ending, .cancelled)
    #expect(forest.cancel(number) == nil && forest.previewCancel(number) == nil && forest.tree(of: number) == nil)
    #expect(forest.cancel(99) == nil)
    try expectEqual(forest.tree(of: self.number(of: "page"))?.entries.count, 2)
    #expect(forest.cancel(try self.number(of: "page"))?.handlers == 1 && log.entries == ["source: plain"])
  }

  @Test("A forest retains no future, and forgets those that have ended")
  func memory() {
    weak var object: Probe?
    do {
      let probe = Probe()
      object = probe
      let promise = Promise<Probe>()
      forest.add(promise.future.map { $0 })
      expectEqual(forest.snapshot().members.count, 2)
      promise.succeed(probe)
    }
    #expect(object == nil)
    expectEqual(now, [])
    for number in 0..<100 {
      let promise = Promise<Int>()
      forest.add(promise.future)
      expectEqual(forest.rootCount, 1)
      if number.isMultiple(of: 2) { expectEqual(forest.snapshot().members.map(\.number), [number / 2 + 3]) }
    }
    expectEqual(forest.rootCount, 0)
    expectEqual(now, [])
    expectEqual(forest.knownCount, 0)
  }

  private final class Probe: Sendable {}

  @Test("Snapshots, cancellations and completions on several threads")
  func threads() {
    let forest = forest
    let promises = (0..<200).map { _ in Promise<Int>() }
    for promise in promises { forest.add(promise.future.map { $0 }.map { $0 }) }
    together(
      (0..<4).map { thread in
        {
          for index in 0..<50 {
            let now = forest.snapshot()
            expectEqual(now.members.count, now.tree.entries.count)
            promises[thread * 50 + index].succeed(index)
            if let last = now.members.last { forest.cancel(last.number, .forceImmediately) }
          }
        }
      })
    for promise in promises { promise.succeed(0) }
    expectEqual(now, [])
    expectEqual(forest.knownCount, 0)
  }
}
