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
  /// One trampoline a thread, made when the thread first needs it and freed when the thread ends.
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
    return key
  }()

  static var ofThread: Unmanaged<Trampoline> {
    if let pointer = pthread_getspecific(key) { return Unmanaged.fromOpaque(pointer) }
    let trampoline = Unmanaged.passRetained(Trampoline())
    pthread_setspecific(key, trampoline.toOpaque())
    return trampoline
  }

  #if FUTURETREE_EXPLORER
    /// Puts the trampoline of another thread in the place of this one's, and returns that.
    static func exchange(with other: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
      defer { pthread_setspecific(key, other) }
      return pthread_getspecific(key)
    }
  #endif
}
