#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif
#if !FUTURETREE_PTHREAD_LOCK && canImport(Darwin)
  import Synchronization
#endif

/// The one lock type of the library: small, not recursive, held for a few instructions.
///
/// No code of a user runs while it is held, and nobody holds two (law 19). Debug builds assert both: see `LockRule`. The
/// other modules of the package and the tests take it from here.
///
/// The thread sanitizer does not see the synchronisation of `Synchronization.Mutex` on Linux and reports races that do
/// not exist. Compile with `-D FUTURETREE_PTHREAD_LOCK` to put a `pthread_mutex_t`, which it knows, in its place.
package struct Lock: ~Copyable, @unchecked Sendable {  // Because: its own mutex is all it holds.
  #if FUTURETREE_EXPLORER
    package let explored = ExploredLock()
  #endif

  #if FUTURETREE_PTHREAD_LOCK
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    package init() {
      mutex = .allocate(capacity: 1)
      mutex.initialize(to: pthread_mutex_t())
      let status = pthread_mutex_init(mutex, nil)
      precondition(status == 0, "pthread_mutex_init failed with \(status)")
    }

    deinit {
      pthread_mutex_destroy(mutex)
      mutex.deallocate()
    }

    package func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
      #if FUTURETREE_EXPLORER
        if let explorer = SchedulingPoint.explorer { return try explored.withLock(explorer, body) }
      #endif
      LockRule.enter()
      pthread_mutex_lock(mutex)
      defer {
        pthread_mutex_unlock(mutex)
        LockRule.leave()
      }
      return try body()
    }
  #elseif !canImport(Darwin)
    private let lock = PollingLock()

    package init() {}

    @inline(__always)
    package func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
      #if FUTURETREE_EXPLORER
        if let explorer = SchedulingPoint.explorer { return try explored.withLock(explorer, body) }
      #endif
      LockRule.enter()
      lock.lock()
      let result: Result
      do {
        result = try body()
      } catch {
        leave()
        throw error
      }
      leave()
      // Otherwise what nobody uses is freed as soon as it is there, which is under the lock.
      withExtendedLifetime(result) {}
      return result
    }

    @inline(__always)
    private func leave() {
      lock.unlock()
      LockRule.leave()
    }
  #else
    private let mutex = Mutex(())

    package init() {}

    @inline(__always)
    package func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
      #if FUTURETREE_EXPLORER
        if let explorer = SchedulingPoint.explorer { return try explored.withLock(explorer, body) }
      #endif
      LockRule.enter()
      defer { LockRule.leave() }
      let result = try mutex.withLock { _ in try Guarded(result: body()) }.result
      withExtendedLifetime(result) {}  // As above.
      return result
    }

    /// Lets a result leave the mutex: what is returned was guarded by the fields' own rules, not by the mutex's type.
    private struct Guarded<Result>: @unchecked Sendable {
      let result: Result
    }
  #endif

  /// Between two steps of a locked section, for the explorer of the tests: only it can interrupt one.
  @inline(__always)
  func pointInside() {
    #if FUTURETREE_EXPLORER
      explored.reachedInside()
    #endif
  }

  /// Before a step without the lock on what the lock guarded before, for the explorer of the tests.
  @inline(__always)
  func pointWithout() {
    #if FUTURETREE_EXPLORER
      SchedulingPoint.reached(explored)
    #endif
  }
}

/// A value that is only reached under a lock.
package final class Locked<State>: @unchecked Sendable {  // Because: `state` is guarded by `lock`.
  private let lock = Lock()
  private var state: State

  package init(_ state: State) {
    self.state = state
  }

  package func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    try lock.withLock { try body(&state) }
  }

  #if FUTURETREE_EXPLORER
    package var explored: ExploredLock { lock.explored }
  #endif

  /// A copy of it. What is replaced is freed after the lock has been released.
  package var value: State {
    get { withLock { $0 } }
    set {
      var replaced = newValue
      withLock { swap(&$0, &replaced) }
    }
  }
}

/// Law 19, asserted: a thread that holds a lock takes no other, and calls no code of a user.
///
/// Costs nothing in a release build, unless that is compiled with `-D FUTURETREE_LOCK_RULE`.
package enum LockRule {
  #if DEBUG || FUTURETREE_LOCK_RULE
    package static let isAsserted = true

    /// For each thread, whether it holds a lock.
    private static let key: pthread_key_t = {
      var key = pthread_key_t()
      let status = pthread_key_create(&key, nil)
      precondition(status == 0, "pthread_key_create failed with \(status)")
      return key
    }()

    package static func enter() {
      check("A thread that holds a lock takes another (law 19).")
      pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    }

    package static func leave() {
      pthread_setspecific(key, nil)
    }

    /// Called before code of a user is.
    package static func assertNoLockIsHeld() {
      check("Code of a user would run under a lock (law 19).")
    }

    @inline(__always)
    private static func check(_ message: @autoclosure () -> String) {
      let holdsNone = pthread_getspecific(key) == nil
      #if FUTURETREE_EXPLORER
        if !holdsNone, let explorer = SchedulingPoint.explorer { return explorer.broke(message()) }
      #endif
      precondition(holdsNone, message())
    }

    #if FUTURETREE_EXPLORER
      fileprivate static func exchangeMark(with mark: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        defer { pthread_setspecific(key, mark) }
        return pthread_getspecific(key)
      }
    #endif
  #else
    package static let isAsserted = false

    @inline(__always) package static func enter() {}
    @inline(__always) package static func leave() {}
    @inline(__always) package static func assertNoLockIsHeld() {}
  #endif
}

#if FUTURETREE_EXPLORER
  extension LockRule {
    /// Exchanges the mark of a thread that holds a lock, where there is one.
    static func exchange(with mark: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
      #if DEBUG || FUTURETREE_LOCK_RULE
        exchangeMark(with: mark)
      #else
        nil
      #endif
    }
  }
#endif
