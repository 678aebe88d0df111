import Foundation
import FutureTree
import Synchronization

/// Runs `body` on a thread with so much stack, and waits for it.
func onThread(stackSize: Int, _ body: @escaping @Sendable () -> Void) {
  let done = DispatchSemaphore(value: 0)
  let thread = Thread {
    body()
    done.signal()
  }
  thread.stackSize = stackSize
  thread.start()
  done.wait()
}

/// Runs the bodies on threads of their own, which begin together, and waits for all.
func together(_ bodies: [@Sendable () -> Void]) {
  let (ready, go, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchGroup())
  for body in bodies {
    done.enter()
    Thread {
      ready.signal()
      go.wait()
      body()
      done.leave()
    }.start()
  }
  for _ in bodies { ready.wait() }
  for _ in bodies { go.signal() }
  done.wait()
}

/// Lets the contenders of a round loose at the same moment, on threads that stay, round after round.
func race<Round: Sendable>(
  rounds: Int, _ contenders: [@Sendable (Round) -> Void], prepare: () -> Round, check: (Round) -> Void
) {
  let (started, finished, current) = (Atomics(), Atomics(), Locked<Round?>(nil))
  let done = DispatchGroup()
  for contender in contenders {
    done.enter()
    Thread {
      for number in 1...rounds {
        spin { started.count.load(ordering: .acquiring) >= number }
        if let round = current.value { contender(round) }
        finished.count.add(1, ordering: .acquiringAndReleasing)
      }
      done.leave()
    }.start()
  }
  for number in 1...rounds {
    let round = prepare()
    current.value = round
    started.count.store(number, ordering: .releasing)
    spin { finished.count.load(ordering: .acquiring) == number * contenders.count }
    current.value = nil
    check(round)
  }
  done.wait()
}

private final class Atomics: Sendable {
  let count = Atomic(0)
}

/// Polls without a clock, and yields so that two cores suffice for three threads.
private func spin(until isDone: () -> Bool) {
  var polls = 0
  while !isDone() {
    polls += 1
    if polls > 200 { sched_yield() }
  }
}
