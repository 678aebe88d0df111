import TestSupport
import Testing

/// The lock, and the reads without it that `docs/the-core.md` lists, in the model of memory order. Each program also runs
/// with an order that is too weak, or without a step. Then the model must find the bug.
@Suite("Memory order")
struct MemoryOrderTests {
  private typealias Model = MemoryModel

  // The locations of the programs.
  private let word = ParkingSteps.word
  private let value = 1
  private let phase = 2
  private let waiters = 3

  // MARK: - The lock

  /// Returns the faults of threads that each run sections that read and write a value.
  private func faults(_ lock: ParkingSteps, sections: Int = 1, threads: Int = 2) -> Set<Model.End> {
    let section = lock.section([.read(value, into: 1), .write(value, 1)])
    let program = Array(repeating: section, count: sections).flatMap(\.self)
    return Model(Array(repeating: program, count: threads)).faults()
  }

  @Test("Sections exclude each other, and every waiting thread is woken")
  func lock() {
    expectEqual(faults(ParkingSteps(), sections: 2), [])
    expectEqual(faults(ParkingSteps(), threads: 3), [])
  }

  @Test("An exchange without release or acquire lets sections race")
  func weakLock() {
    #expect(faults(ParkingSteps(leaves: .relaxed)).contains(.race(value)))
    #expect(faults(ParkingSteps(enters: .relaxed)).contains(.race(value)))
    #expect(faults(ParkingSteps(entersAfterSleep: .relaxed)).contains(.race(value)))
  }

  @Test("A lock that misses a waiter never wakes it")
  func lostWake() {
    expectEqual(faults(ParkingSteps(markOfWaiter: 1)), [.hang])
    expectEqual(faults(ParkingSteps(looksBeforeSleep: false)), [.hang])
    expectEqual(faults(ParkingSteps(wakesInMutex: false)), [.hang])
  }

  // MARK: - Completion of a future

  /// Returns a model in which one thread completes a future and then takes its waiters without the lock. The other thread adds
  /// a waiter under the lock, or finds the future completed and then reads the value without the lock.
  private func ending(_ lock: ParkingSteps, readsUnderLock: Bool = true) -> Model {
    let ends = lock.section([.write(value, 42), .write(phase, 1)]) + [.read(waiters, into: 1)]
    let attaches: [Model.Step] = [.read(phase, into: 1), .jump(2, ifNot: 0, in: 1), .write(waiters, 1)]
    let reads: [Model.Step] = [.jump(2, ifNot: 1, in: 1), .read(value, into: 2)]
    return Model([ends, (readsUnderLock ? lock.section(attaches) : attaches) + reads])
  }

  @Test("A waiter is either in the list of the completing future, or reads the value")
  func end() {
    let ends = ending(ParkingSteps()).ends().map { end -> [Int] in
      if case .done(let registers) = end { [registers[0][1], registers[1][1], registers[1][2]] } else { [] }
    }
    expectEqual(Set(ends), [[1, 0, 0], [0, 1, 42]])
  }

  @Test("A completion without the release or acquire of the lock, or without the lock, is a race")
  func weakEnd() {
    #expect(ending(ParkingSteps(leaves: .relaxed)).faults().contains(.race(phase)))
    #expect(ending(ParkingSteps(enters: .relaxed)).faults().contains(.race(phase)))
    #expect(ending(ParkingSteps(), readsUnderLock: false).faults().contains(.race(phase)))
  }

  // MARK: - A join

  /// Returns a model of two inputs that each write a value and then count their slot under the lock of the join. The last
  /// input reads both values.
  private func join(_ lock: ParkingSteps) -> Model {
    func slot(_ own: Int, _ other: Int) -> [Model.Step] {
      [.write(own, 42)] + lock.section([.read(own + 2, into: 1), .read(other + 2, into: 1), .write(own + 2, 1)])
        + [.jump(2, ifNot: 1, in: 1), .read(other, into: 2)]
    }
    return Model([slot(1, 2), slot(2, 1)])
  }

  @Test("The last slot of a join reads the values of all inputs")
  func lastSlot() {
    let read = join(ParkingSteps()).ends().map { end -> [Int] in
      if case .done(let registers) = end { registers.map { $0[2] }.sorted() } else { [] }
    }
    expectEqual(Set(read), [[0, 42]])
    #expect(join(ParkingSteps(leaves: .relaxed)).faults() != [])
  }

  // MARK: - References

  /// Returns a model in which one thread sets a flag of an object and drops its reference. Another thread drops a reference
  /// too. The thread that drops the last reference reads the flag.
  private func release(_ order: Model.Order, fence: Bool) -> Model {
    let drop: [Model.Step] =
      [.add(word, 1, order, into: 0), .jump(fence ? 3 : 2, ifNot: 1, in: 0)]
      + (fence ? [.fence(.acquiring)] : []) + [.read(value, into: 1)]
    return Model([[.write(value, 1)] + drop, drop])
  }

  @Test("`isKnownToBeFulfilled`: the last release of a promise reads the writes of earlier releases")
  func flagOfPromise() {
    expectEqual(release(.releasing, fence: true).faults(), [])
    #expect(release(.relaxed, fence: true).faults().contains(.race(value)))
    #expect(release(.releasing, fence: false).faults().contains(.race(value)))
  }

  /// Returns a model in which one thread changes a future under its lock and drops its reference. The other thread finds by a
  /// relaxed load that it has the only reference left, and reads the future.
  private func uniqueReference(locks: Bool, changesUnderLock: Bool = true) -> Model {
    let (references, lock) = (phase, ParkingSteps())
    let change: [Model.Step] = [.write(value, 1)]
    let look: [Model.Step] = [.read(value, into: 2)]
    let reads = locks ? lock.section(look) : look
    return Model([
      (changesUnderLock ? lock.section(change) : change) + [.add(references, 1, .releasing, into: 0)],
      [.load(references, .relaxed, into: 1), .jump(reads.count + 1, ifNot: 1, in: 1)] + reads,
    ])
  }

  @Test("`isKnownUniquelyReferenced`, a relaxed load, allows only reads under the lock of state that the lock guards")
  func uniqueReference() {
    expectEqual(uniqueReference(locks: true).faults(), [])
    expectEqual(uniqueReference(locks: false).faults(), [.race(value)])
    expectEqual(uniqueReference(locks: true, changesUnderLock: false).faults(), [.race(value)])
  }
}

/// The steps of `ParkingLock`, without the spinning. They change register 0.
private struct ParkingSteps {
  static let word = 0

  var enters = MemoryModel.Order.acquiring
  var entersAfterSleep = MemoryModel.Order.acquiring
  var leaves = MemoryModel.Order.releasing
  var markOfWaiter = 2
  var looksBeforeSleep = true
  var wakesInMutex = true

  func section(_ body: [MemoryModel.Step]) -> [MemoryModel.Step] { enter + body + leave }

  private var enter: [MemoryModel.Step] {
    let sleep: [MemoryModel.Step] =
      [.enter]
      + (looksBeforeSleep ? [.load(Self.word, .relaxed, into: 0), .jump(2, ifNot: markOfWaiter, in: 0)] : [])
      + [.sleep, .leave]
    return [
      .compareExchange(Self.word, from: 0, to: 1, enters, into: 0), .jump(2, ifNot: 0, in: 0), .go(sleep.count + 5),
      .exchange(Self.word, markOfWaiter, entersAfterSleep, into: 0), .jump(2, ifNot: 0, in: 0), .go(sleep.count + 2),
    ] + sleep + [.go(-sleep.count - 3)]
  }

  private var leave: [MemoryModel.Step] {
    let wake: [MemoryModel.Step] =
      wakesInMutex ? [.enter, .wakeAll, .leave] : [.wakeAll]
    return [.exchange(Self.word, 0, leaves, into: 0), .jump(wake.count + 1, ifNot: 2, in: 0)] + wake
  }
}
