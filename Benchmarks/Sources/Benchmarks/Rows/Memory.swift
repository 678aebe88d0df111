import FutureTree
import HeapCounter
import Works

extension Row {
  /// The heap memory of one link of a pending chain of `map`, including the overhead of malloc: the difference between chains
  /// of 3,000 and 1,000 links. Empty on platforms without a heap counter.
  static let memory = heapCounterExists() ? memoryRows : []

  private static let memoryRows = [
    Row(
      "heap blocks of a pending `map`", against: PeerName.nio, .timesAsMany,
      ours: counted("link", \.blocksInUse) { ourChain(of: $0, capturing: false) },
      theirs: counted("link", \.blocksInUse) { NIOWorks.pendingChain(of: $0, capturing: false) }),
    Row(
      "heap blocks of a pending `map` that captures", against: PeerName.nio, .timesAsMany,
      ours: counted("link", \.blocksInUse) { ourChain(of: $0, capturing: true) },
      theirs: counted("link", \.blocksInUse) { NIOWorks.pendingChain(of: $0, capturing: true) }),
    Row(
      "heap bytes of a pending `map`", against: PeerName.nio, .timesAsMany,
      ours: counted("link", \.bytesInUse) { ourChain(of: $0, capturing: false) },
      theirs: counted("link", \.bytesInUse) { NIOWorks.pendingChain(of: $0, capturing: false) }),
  ]

  private static func ourChain(of length: Int, capturing: Bool) -> () -> Void {
    let promise = Promise<Int>()
    var tail = promise.future
    for number in 0..<length { tail = capturing ? tail.map { $0 &+ number } : tail.map { $0 &+ 1 } }
    return {
      tail.observe { outcome in
        if case .success(let value) = outcome { consume(value) }
      }
      promise.succeed(1)
    }
  }

  /// - Parameter make: Makes a chain, and returns a closure that completes it.
  private static func counted(
    _ unit: String, _ number: @escaping @Sendable (HeapCount) -> Int64,
    _ make: @escaping @Sendable (_ length: Int) -> () -> Void
  ) -> Work {
    Work(unit, operations: 1) { _ in
      func count(_ length: Int) -> Int64 {
        heapCounterStart()
        let complete = make(length)
        let count = number(heapCounterRead())
        heapCounterStop()
        complete()
        return count
      }
      // Takes the least of several runs: malloc may reuse a block that is slightly larger than requested.
      return (0..<5).map { _ in Double(count(3000) - count(1000)) / 2000 }.min() ?? 0
    }
  }
}
