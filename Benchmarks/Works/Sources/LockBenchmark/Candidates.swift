import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Futex
  import Glibc
#elseif canImport(Musl)
  import Futex
  import Musl
#endif

/// A lock to measure. Each candidate is a class, so that every lock has its own address on the heap.
protocol Candidate: AnyObject, Sendable {
  static var name: String { get }
  init()
  func withLock(_ body: () -> Void)
}

/// The lock of the standard library. On Linux: a futex that the kernel hands to its next owner.
final class PlatformMutex: Candidate {
  static let name = "`Mutex`"
  private let mutex = Mutex(())

  @inline(__always)
  func withLock(_ body: () -> Void) {
    mutex.withLock { _ in body() }
  }
}

/// The lock of POSIX.
final class PthreadMutex: Candidate, @unchecked Sendable {  // Because: POSIX makes a mutex thread-safe.
  static let name = "`pthread_mutex_t`"
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

  init() {
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  @inline(__always)
  func withLock(_ body: () -> Void) {
    pthread_mutex_lock(mutex)
    body()
    pthread_mutex_unlock(mutex)
  }
}

#if !canImport(Darwin)
  /// A lock of one byte that is released by a plain store. A waiting thread polls, with pauses of up to a millisecond.
  final class Polling: Candidate {
    static let name = "`PollingLock`"
    private let inner = PollingLock()

    @inline(__always)
    func withLock(_ body: () -> Void) {
      inner.lock()
      body()
      inner.unlock()
    }
  }

  /// The lock of the library: a link to its file.
  final class Parking: Candidate {
    static let name = "`ParkingLock`"
    private let inner = ParkingLock()

    @inline(__always)
    func withLock(_ body: () -> Void) {
      inner.withLock(body)
    }
  }

  /// A futex lock that spins for a while and then blocks: 0 is free, 1 held, 2 held while others may be blocked.
  final class ParkingFutex: Candidate, @unchecked Sendable {  // Because: the word is atomic.
    static let name = "futex"
    private let word = UnsafeMutablePointer<Atomic<UInt32>>.allocate(capacity: 1)

    init() {
      word.initialize(to: Atomic(0))
    }

    deinit {
      word.deallocate()
    }

    @inline(__always)
    func withLock(_ body: () -> Void) {
      if !word.pointee.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged { wait() }
      body()
      if word.pointee.exchange(0, ordering: .releasing) == 2 { futexWake(word) }
    }

    @inline(never)
    private func wait() {
      for _ in 0..<100 where word.pointee.load(ordering: .relaxed) == 0 {
        if word.pointee.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged { return }
      }
      while word.pointee.exchange(2, ordering: .acquiring) != 0 { futexWait(word, 2) }
    }
  }
#endif
