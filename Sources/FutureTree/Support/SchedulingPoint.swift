// The points at which the explorer of the tests may switch to another thread.
//
// Tests with real threads cover only the schedules that the machine happens to run. With `-D FUTURETREE_EXPLORER`, an explorer
// runs all schedules, one after another, on one thread. It is called before every lock operation, before every entry is taken
// from the list of an ended future, and wherever a thread would block. Without the condition, none of this is compiled. See
// `Tests/FutureTreeModelTests/Explorer`.

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

  /// Decides which of its threads continues. It runs all of them on one system thread, one at a time.
  package protocol ThreadExplorer: AnyObject {
    /// Whether a thread can be interrupted while it holds a lock. Other threads observe the interruption only if a lock is
    /// missing.
    var interruptsLocks: Bool { get }
    /// The current thread is about to perform an effect that others may observe: at `place`, and nowhere else until its next
    /// point.
    func reachedPoint(at place: ObjectIdentifier)
    /// The current thread cannot continue before `place` is left.
    func wait(for place: ObjectIdentifier)
    /// The threads that wait for `place` can try again.
    func left(_ place: ObjectIdentifier)
    /// Records that a future was created (1) or deallocated (-1).
    func countNodes(_ change: Int)
    /// The current thread broke a rule.
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

    /// The explorer of this system thread, if any.
    package static var explorer: (any ThreadExplorer)? {
      guard let pointer = pthread_getspecific(key) else { return nil }
      return Unmanaged<Box>.fromOpaque(pointer).takeUnretainedValue().explorer
    }

    /// Runs `body` with an explorer for this system thread.
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

  /// A lock as the threads of an explorer use it.
  package final class ExploredLock: @unchecked Sendable {  // Because: an explorer runs one thread at a time.
    private var isHeld = false
    /// Set by a test that shows the effect of a missing lock.
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
