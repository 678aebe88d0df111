import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("State: TimerQueue")
struct TimerQueueTests {
  @Test("The earliest entry is first, and equal entries keep the order of insertion")
  func order() {
    let log = Recorder()
    var queue = TimerQueue()
    for (index, seconds) in [3, 1, 2, 1, 3].enumerated() {
      _ = queue.insert(at: .seconds(seconds)) { log("\(index)") }
    }

    while let (_, body) = queue.popDue(at: .seconds(2)) { body() }

    expectEqual(log.entries, ["1", "3", "2"])
    expectEqual(queue.count, 2)
    let next = queue.nextDeadline
    expectEqual(next, .seconds(3))
  }

  @Test("Any entry can be removed once, and the others keep their order", arguments: 0..<20)
  func removal(seed: Int) {
    var random = SplitMix64(seed: UInt64(seed))
    var queue = TimerQueue()
    var entries: [(deadline: Int, order: Int, entry: TimerQueue.Entry)] = []
    for order in 0..<100 {
      let deadline = Int.random(in: 0..<20, using: &random)
      entries.append((deadline, order, queue.insert(at: .seconds(deadline)) {}))
    }
    entries.shuffle(using: &random)

    let removed = entries.prefix(60).map { queue.remove($0.entry) != nil }
    let again = entries.prefix(60).map { queue.remove($0.entry) != nil }
    let count = queue.count
    let next = queue.nextDeadline
    var popped: [Duration] = []
    while let (deadline, _) = queue.popDue(at: .seconds(20)) { popped.append(deadline) }

    #expect(removed.allSatisfy { $0 } && !again.contains(true))
    expectEqual(count, 40)
    expectEqual(queue.count, 0)
    expectEqual(next, popped.first)
    expectEqual(popped, entries.dropFirst(60).map { .seconds($0.deadline) }.sorted())
  }

  @Test("Removed entries are dropped, and so is each entry whose body was taken")
  func memory() {
    var queue = TimerQueue()
    let rest = queue.insert(at: .seconds(1)) {}
    weak var last: TimerQueue.Entry?

    for order in 0..<1000 {
      let entry = queue.insert(at: .seconds(2 + order)) {}
      _ = queue.remove(entry)
      last = entry
    }

    expectEqual(queue.count, 1)
    // At most as many as there are bodies, and 64.
    while queue.remove(queue.insert(at: .seconds(2000)) {}) != nil, last != nil {}
    #expect(last == nil)
    #expect(queue.popDue(at: .seconds(1)) != nil && queue.remove(rest) == nil)
  }
}
