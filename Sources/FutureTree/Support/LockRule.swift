#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Asserts law 19 (no user code under a lock): a thread that holds a lock takes no second lock and calls no user code.
///
/// Costs nothing in a release build, unless it is compiled with `-D FUTURETREE_LOCK_RULE`.
package enum LockRule {
  #if DEBUG || FUTURETREE_LOCK_RULE
    package static let isAsserted = true

    /// The per-thread mark that the thread holds a lock.
    private static let key: pthread_key_t = {
      var key = pthread_key_t()
      let status = pthread_key_create(&key, nil)
      precondition(status == 0, "pthread_key_create failed with \(status)")
      return key
    }()

    package static func enter() {
      check("A thread takes a lock while it holds another lock. Law 19 (no user code under a lock) forbids this.")
      pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    }

    package static func leave() {
      pthread_setspecific(key, nil)
    }

    /// Called before user code is called.
    package static func assertNoLockIsHeld() {
      check("User code is about to run under a lock. Law 19 (no user code under a lock) forbids this.")
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
    /// Replaces the mark of this thread and returns the previous one, if marks exist.
    static func exchange(with mark: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
      #if DEBUG || FUTURETREE_LOCK_RULE
        exchangeMark(with: mark)
      #else
        nil
      #endif
    }
  }
#endif
