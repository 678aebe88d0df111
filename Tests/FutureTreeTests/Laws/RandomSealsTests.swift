import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Law 21: bounded memory, random trees with sealed promises", .tags(.law21))
struct RandomSealsTests {
  @Test("A tree without a cycle is deallocated after any seals, completions and cancellations")
  func nothingIsRetained() {
    for seed in 0..<3_000 {
      let census = Census()
      var tree = RandomTree(seed: seed, census)

      tree.act()
      let isCircle = tree.hasCircle
      tree.release()

      #expect(isCircle || census.alive == 0, "seed \(seed)")
    }
  }
}

/// Futures that wait for each other. Each promise is completed, sealed onto one of the futures, or dropped.
private struct RandomTree {
  private var random: SplitMix64
  private var futures: [Future<Int>] = []
  private var promises: [(position: Int, promise: Promise<Int>)] = []
  /// The positions that each future may wait for.
  private var inputs: [[Int]] = []

  init(seed: Int, _ census: Census) {
    random = SplitMix64(seed: UInt64(seed))
    for position in 0..<Int.random(in: 4...20, using: &random) {
      if position == 0 || Int.random(in: 0..<3, using: &random) == 0 {
        let promise = Promise<Int>()
        if Bool.random(using: &random) { promise.onRequestCancel(holding: census.probe()) }
        promises.append((position, promise))
        add(promise.future, waitingFor: [])
      } else {
        derive(holding: census.probe())
      }
    }
  }

  private mutating func add(_ future: Future<Int>, waitingFor positions: [Int]) {
    futures.append(future)
    inputs.append(positions)
  }

  private mutating func derive(holding probe: Probe) {
    let positions = (0..<2).map { _ in futures.indices.randomElement(using: &random)! }  // There is one at least.
    let (first, second) = (futures[positions[0]], futures[positions[1]])
    let held: @Sendable (Int) -> Int = { value in
      probe.touch()
      return value
    }
    let inner: @Sendable () -> Future<Int> = {
      probe.touch()
      return second
    }
    switch Int.random(in: 0..<8, using: &random) {
    case 0: add(first.map(held), waitingFor: [positions[0]])
    case 1: add(first.ensure { probe.touch() }, waitingFor: [positions[0]])
    case 2: add(first.flatMap { _ in inner() }, waitingFor: positions)
    case 3: add(first.recoverWith { _ in inner() }, waitingFor: positions)
    case 4: add(first.onComplete { _ in .completeUsing(inner()) }, waitingFor: positions)
    case 5: add(Future.all([first, second]).map { held($0[0]) }, waitingFor: positions)
    case 6: add(Future.race([first, second]).map(held), waitingFor: positions)
    default: add(Future.any([first, second]).map(held), waitingFor: positions)
    }
  }

  mutating func act() {
    for (position, promise) in promises {
      let other = futures.indices.randomElement(using: &random)!  // There is one at least.
      switch Int.random(in: 0..<6, using: &random) {
      case 0: promise.succeed(1)
      case 1: promise.fail(Oops())
      case 2: futures[other].cancel()
      case 3: futures[other].cancel(.forceImmediately)
      default:
        promise.complete(.completeUsing(futures[other]))
        inputs[position].append(other)
      }
    }
  }

  mutating func release() {
    (futures, promises) = ([], [])
  }

  /// Whether a future may wait for itself.
  var hasCircle: Bool {
    // Removes each future that waits for no remaining future. The remaining futures form a cycle.
    var left = Set(inputs.indices)
    while let free = left.first(where: { !inputs[$0].contains(where: left.contains) }) { left.remove(free) }
    return !left.isEmpty
  }
}
