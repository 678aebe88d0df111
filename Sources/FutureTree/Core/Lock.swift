#if FUTURETREE_PTHREAD_LOCK
  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Android)
    import Android
  #endif
#else
  import Synchronization
#endif

/// The one lock type of the library: small, not recursive, held for a few instructions.
///
/// No code of a user runs while it is held, and nobody holds two (law 19). The other modules of the package and the tests
/// take it from here.
///
/// The thread sanitizer does not see the synchronisation of `Synchronization.Mutex` on Linux and reports races that do
/// not exist. Compile with `-D FUTURETREE_PTHREAD_LOCK` to put a `pthread_mutex_t`, which it knows, in its place.
package struct Lock: ~Copyable, @unchecked Sendable {  // Because: its own mutex is all it holds.
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
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      return try body()
    }
  #else
    private let mutex = Mutex(())

    package init() {}

    @inline(__always)
    package func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
      try mutex.withLock { _ in try Guarded(result: body()) }.result
    }

    /// Lets a result leave the mutex: what is returned was guarded by the fields' own rules, not by the mutex's type.
    private struct Guarded<Result>: @unchecked Sendable {
      let result: Result
    }
  #endif
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

  /// A copy of it.
  package var value: State {
    get { withLock { $0 } }
    set { withLock { $0 = newValue } }
  }
}
