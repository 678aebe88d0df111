// Where the tests' explorer may let another thread go on.
//
// Tests with real threads meet the schedules that a machine happens to run. With `-D FUTURETREE_EXPLORER` every lock
// operation, every entry that is taken from the list of a future that has ended, and every place where a thread would block
// asks an explorer first, so that a test can run all schedules, one after another, on one thread. Without the condition
// nothing of this is compiled. See `Tests/FutureTreeTests/Explorer`.

#if FUTURETREE_EXPLORER
  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Android)
    import Android
  #endif

  /// Decides which of its threads goes on. It runs all of them on one thread of the system, one at a time.
  package protocol ThreadExplorer: AnyObject {
    /// Whether a thread can be interrupted while it holds a lock. It changes nothing that others see, unless a lock is
    /// missing.
    var interruptsLocks: Bool { get }
    /// The thread that runs is about to do what others may see: at `place`, and up to its next point at no other.
    func reachedPoint(at place: ObjectIdentifier)
    /// The thread that runs cannot go on before `place` was left.
    func wait(for place: ObjectIdentifier)
    /// Those that wait for `place` can try again.
    func left(_ place: ObjectIdentifier)
    /// A future was made (1) or freed (-1).
    func countNodes(_ change: Int)
    /// The thread that runs broke a rule.
    func broke(_ rule: String)
  }

  package enum SchedulingPoint {
    private static let key: pthread_key_t = {
      var key = pthread_key_t()
      let status = pthread_key_create(&key, nil)
      precondition(status == 0, "pthread_key_create failed with \(status)")
      return key
    }()

    private final class Box {
      let explorer: any ThreadExplorer

      init(_ explorer: any ThreadExplorer) {
        self.explorer = explorer
      }
    }

    /// What explores on this thread of the system, if anything does.
    package static var explorer: (any ThreadExplorer)? {
      guard let pointer = pthread_getspecific(key) else { return nil }
      return Unmanaged<Box>.fromOpaque(pointer).takeUnretainedValue().explorer
    }

    /// Runs `body` with an explorer for this thread of the system.
    package static func with<Result>(_ explorer: any ThreadExplorer, _ body: () throws -> Result) rethrows -> Result {
      let box = Box(explorer)
      let previous = pthread_getspecific(key)
      pthread_setspecific(key, Unmanaged.passUnretained(box).toOpaque())
      defer {
        pthread_setspecific(key, previous)
        withExtendedLifetime(box) {}
      }
      return try body()
    }

    package static func reached(_ place: AnyObject) { explorer?.reachedPoint(at: ObjectIdentifier(place)) }
    package static func countNodes(_ change: Int) { explorer?.countNodes(change) }
  }

  /// What the library keeps for each thread. The explorer exchanges it when another of its threads goes on.
  package struct ThreadState {
    private let trampoline: UnsafeMutableRawPointer?
    private let lockRule: UnsafeMutableRawPointer?

    /// That of a new thread.
    package static var new: ThreadState { ThreadState(trampoline: nil, lockRule: nil) }

    /// Puts a state in the place of the current one, and returns that.
    package static func exchange(with state: ThreadState) -> ThreadState {
      ThreadState(
        trampoline: Trampoline.exchange(with: state.trampoline), lockRule: LockRule.exchange(with: state.lockRule))
    }
  }

  /// A lock as the threads of an explorer see it.
  package final class ExploredLock: @unchecked Sendable {  // Because: an explorer runs one thread at a time.
    private var isHeld = false
    /// Set by a test that shows what happens without this lock.
    package var isRemoved = false

    func withLock<Result>(_ explorer: any ThreadExplorer, _ body: () throws -> Result) rethrows -> Result {
      explorer.reachedPoint(at: ObjectIdentifier(self))
      while isHeld, !isRemoved { explorer.wait(for: ObjectIdentifier(self)) }
      LockRule.enter()
      isHeld = true
      defer {
        isHeld = false
        LockRule.leave()
        explorer.left(ObjectIdentifier(self))
      }
      return try body()
    }

    /// A point between two steps of a locked section.
    func reachedInside() {
      guard let explorer = SchedulingPoint.explorer, isRemoved || explorer.interruptsLocks else { return }
      explorer.reachedPoint(at: ObjectIdentifier(self))
    }
  }
#else
  enum SchedulingPoint {
    @inline(__always) static func countNodes(_ change: Int) {}
  }
#endif
