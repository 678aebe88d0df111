#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A thread with a chosen stack size, which the test joins.
package struct JoinedThread {
  private let handle: pthread_t

  /// - Parameter stackSize: The size in bytes.
  package init(stackSize: Int = 512 * 1024, _ body: @escaping @Sendable () -> Void) {
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

  package func join() {
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
