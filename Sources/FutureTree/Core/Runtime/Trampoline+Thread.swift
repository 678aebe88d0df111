import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

extension Trampoline {
  /// The key of the trampolines. Each thread has one trampoline, created when it is first needed and freed when the thread
  /// ends.
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let status = pthread_key_create(&key) { pointer in
      #if canImport(Darwin)
        Unmanaged<Trampoline>.fromOpaque(pointer).release()
      #else
        if let pointer { Unmanaged<Trampoline>.fromOpaque(pointer).release() }
      #endif
    }
    precondition(status == 0, "pthread_key_create failed with \(status)")
    knownKey.store(UInt(key) + 1, ordering: .releasing)
    return key
  }()

  /// The key plus 1, or 0 before the key is made. Each read of the key itself would call `swift_once`.
  private static let knownKey = Atomic<UInt>(0)

  static var ofThread: Unmanaged<Trampoline> {
    let known = knownKey.load(ordering: .acquiring)
    if known != 0, let pointer = pthread_getspecific(pthread_key_t(truncatingIfNeeded: known &- 1)) {
      return Unmanaged.fromOpaque(pointer)
    }
    return make()
  }

  @inline(never)
  private static func make() -> Unmanaged<Trampoline> {
    let trampoline = Unmanaged.passRetained(Trampoline())
    pthread_setspecific(key, trampoline.toOpaque())
    return trampoline
  }

  #if FUTURETREE_EXPLORER
    /// Replaces the trampoline of this thread and returns the previous one.
    static func exchange(with other: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
      defer { pthread_setspecific(key, other) }
      return pthread_getspecific(key)
    }
  #endif
}
