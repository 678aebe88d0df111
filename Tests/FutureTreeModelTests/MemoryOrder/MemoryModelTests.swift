import TestSupport
import Testing

/// The textbook programs, with the results that C11 defines.
@Suite("The model of memory order")
struct MemoryModelTests {
  private typealias Model = MemoryModel

  /// Returns the ends of message passing: one thread writes a value and sets a flag, and the other reads the value if it
  /// reads the flag.
  private func messagePassing(_ set: [Model.Step], _ look: [Model.Step]) -> Set<Model.End> {
    Model([[.write(1, 42)] + set, look + [.jump(2, ifNot: 1, in: 0), .read(1, into: 1)]]).ends()
  }

  private let passed: Set<Model.End> = [
    .done([[0, 0, 0, 0], [0, 0, 0, 0]]), .done([[0, 0, 0, 0], [1, 42, 0, 0]]),
  ]

  @Test("Release and acquire pass a value on, as operations and as fences")
  func releaseAcquire() {
    expectEqual(messagePassing([.store(0, 1, .releasing)], [.load(0, .acquiring, into: 0)]), passed)
    expectEqual(
      messagePassing([.fence(.releasing), .store(0, 1, .relaxed)], [.load(0, .relaxed, into: 0), .fence(.acquiring)]),
      passed)
  }

  @Test("A value passed without a release or without an acquire is a race")
  func relaxed() {
    #expect(messagePassing([.store(0, 1, .relaxed)], [.load(0, .acquiring, into: 0)]).contains(.race(1)))
    #expect(messagePassing([.store(0, 1, .releasing)], [.load(0, .relaxed, into: 0)]).contains(.race(1)))
    #expect(
      messagePassing([.store(0, 1, .relaxed), .fence(.releasing)], [.load(0, .acquiring, into: 0)]).contains(.race(1)))
  }

  @Test("Two threads that each write and then read the other's location may both read the old value")
  func storeBuffering() {
    let ends = Model([
      [.store(0, 1, .releasing), .load(1, .acquiring, into: 0)],
      [.store(1, 1, .releasing), .load(0, .acquiring, into: 0)],
    ]).ends()

    expectEqual(ends.count, 4)
    #expect(ends.contains(.done([[0, 0, 0, 0], [0, 0, 0, 0]])))
  }

  @Test("A thread never reads an older value than before")
  func coherence() {
    let ends = Model([
      [.store(0, 1, .relaxed)], [.load(0, .relaxed, into: 0), .load(0, .relaxed, into: 1)],
    ]).ends()

    expectEqual(ends.count, 3)
    #expect(!ends.contains(.done([[0, 0, 0, 0], [1, 0, 0, 0]])))
  }

  @Test("A read-modify-write of another thread passes the released view on")
  func releaseSequence() {
    let ends = Model([
      [.write(1, 42), .store(0, 1, .releasing)],
      [.add(0, 1, .relaxed, into: 0)],
      [.load(0, .acquiring, into: 0), .jump(2, ifNot: 2, in: 0), .read(1, into: 1)],
    ]).ends()

    #expect(ends.contains { if case .done(let registers) = $0 { registers[2] == [2, 42, 0, 0] } else { false } })
    #expect(!ends.contains(.race(1)))
  }

  @Test("A write without knowledge of a read is a race")
  func readBeforeWrite() {
    #expect(Model([[.read(0, into: 0)], [.write(0, 1)]]).ends().contains(.race(0)))
  }

  @Test("A thread without a wake hangs")
  func hang() {
    let sleeper: [Model.Step] = [.enter, .sleep, .leave]
    let waker: [Model.Step] = [.enter, .wakeAll, .leave]

    expectEqual(Model([sleeper, waker]).ends(), [.hang, .done([[0, 0, 0, 0], [0, 0, 0, 0]])])
  }
}
