import FutureTree
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A thread with a stack of its own size, joined by hand.
struct Thread {
  private let handle: pthread_t

  init(stackSize: Int = 512 * 1024, _ body: @escaping @Sendable () -> Void) {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setstacksize(&attributes, stackSize)
    defer { pthread_attr_destroy(&attributes) }
    let box = Unmanaged.passRetained(Body(body)).toOpaque()
    #if canImport(Darwin)
      var thread: pthread_t?
      let entry: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? = { runBody($0) }
    #else
      var thread = pthread_t()
      let entry: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { runBody($0!) }
    #endif
    let failure = pthread_create(&thread, &attributes, entry, box)
    precondition(failure == 0, "no thread: \(failure)")
    #if canImport(Darwin)
      handle = thread!
    #else
      handle = thread
    #endif
  }

  func join() {
    pthread_join(handle, nil)
  }
}

private final class Body: Sendable {
  let run: @Sendable () -> Void

  init(_ run: @escaping @Sendable () -> Void) {
    self.run = run
  }
}

private func runBody(_ raw: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
  Unmanaged<Body>.fromOpaque(raw).takeRetainedValue().run()
  return nil
}

/// Runs `body` on a thread with 512 KiB of stack and waits for it.
func onSmallStack(_ body: @escaping @Sendable () -> Void) {
  Thread(body).join()
}

/// Runs `body` on another thread and waits for it: hangs if it needs a lock that the caller holds.
func onAnotherThread(_ body: @escaping @Sendable () -> Void) {
  Thread(stackSize: 1024 * 1024, body).join()
}

/// Lets the contenders of a round loose at the same moment, round after round, and checks what came of it.
func race<Round: Sendable>(
  rounds: Int, _ prepare: () -> Round, _ makeContenders: () -> [@Sendable (Round) -> Void],
  check: (Round, Int) -> Void
) {
  let arena = Arena<Round>()
  let contenders = makeContenders()
  let threads = contenders.map { contender in
    Thread(stackSize: 1024 * 1024) {
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

/// Polls without a clock; yields so that two cores suffice for three threads.
func spin(until done: () -> Bool) {
  var polls = 0
  while !done() {
    polls += 1
    if polls > 200 { sched_yield() }
  }
}
