import FutureTree
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Runs `body` on a thread with the given stack size in bytes, and waits for it.
package func onThread(stackSize: Int, _ body: @escaping @Sendable () -> Void) {
  JoinedThread(stackSize: stackSize, body).join()
}

/// Runs `body` on a thread with 512 KiB of stack and waits for it.
package func onSmallStack(_ body: @escaping @Sendable () -> Void) {
  onThread(stackSize: 512 * 1024, body)
}

/// Runs `body` on another thread and waits for it. Hangs if `body` needs a lock that the caller holds.
package func onAnotherThread(_ body: @escaping @Sendable () -> Void) {
  onThread(stackSize: 1024 * 1024, body)
}

/// Runs each body on its own thread. All begin together. Waits for all of them.
package func together(_ bodies: [@Sendable () -> Void]) {
  let ready = Counter()
  let threads = bodies.map { body in
    JoinedThread(stackSize: 1024 * 1024) {
      ready.meet(bodies.count)
      body()
    }
  }
  for thread in threads { thread.join() }
}

/// Runs two bodies at the same time, the second one on the calling thread, and waits for both.
package func atOnce(_ first: @escaping @Sendable () -> Void, _ second: () -> Void) {
  let ready = Counter()
  let thread = JoinedThread(stackSize: 1024 * 1024) {
    ready.meet(2)
    first()
  }
  ready.meet(2)
  second()
  thread.join()
}

private final class Counter: Sendable {
  private let count = Atomic(0)

  /// Waits until `number` threads have arrived.
  func meet(_ number: Int) {
    count.add(1, ordering: .acquiringAndReleasing)
    spin { count.load(ordering: .acquiring) >= number }
  }
}

/// Starts the contenders of each round at the same time, and checks the result of each round.
///
/// - Parameter rounds: The number of rounds. The small version of the tests runs an eighth of them, because the contenders poll,
///   and another process on the machine makes each round last for milliseconds.
package func race<Round: Sendable>(
  rounds: Int, _ prepare: () -> Round, _ makeContenders: () -> [@Sendable (Round) -> Void],
  check: (Round, Int) -> Void
) {
  let rounds = LongTest.count(rounds, small: max(1, rounds / 8))
  let arena = Arena<Round>()
  let contenders = makeContenders()
  let threads = contenders.map { contender in
    JoinedThread(stackSize: 1024 * 1024) {
      for number in 1...rounds {
        arena.waitForStart(number)
        if let round = arena.round.value { contender(round) }
        arena.finished.add(1, ordering: .acquiringAndReleasing)
      }
    }
  }
  for number in 1...rounds {
    let round = prepare()
    arena.round.value = round
    arena.started.store(number, ordering: .releasing)
    spin { arena.finished.load(ordering: .acquiring) == number * contenders.count }
    arena.round.value = nil
    check(round, number)
  }
  for thread in threads { thread.join() }
}

private final class Arena<Round: Sendable>: Sendable {
  let started = Atomic(0)
  let finished = Atomic(0)
  let round = Locked<Round?>(nil)

  func waitForStart(_ number: Int) {
    spin { started.load(ordering: .acquiring) >= number }
  }
}

/// Polls without a clock. Yields, so that two cores are enough for three threads.
package func spin(until done: () -> Bool) {
  var polls = 0
  while !done() {
    polls += 1
    if polls > 200 { sched_yield() }
  }
}
