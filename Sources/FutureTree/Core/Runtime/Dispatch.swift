import Dispatch

// What the library takes from Dispatch: executors and the clock of the machine.

/// The main actor as a place for bodies. Its one value is `.main`.
///
/// ```swift
/// feed.map(on: .main) { feed in view.show(feed) }  // The body is isolated to the main actor.
/// ```
///
/// A body runs at once where the main queue is current already, and is dispatched to it otherwise. It is a type of its own
/// because overloads that differ only in the isolation of a closure do not compile.
public struct MainExecutor: Sendable {
  private init() {}

  /// The main actor.
  public static let main = MainExecutor()
}

extension MainExecutor {
  /// The main queue as an executor that does not hop when it is there already.
  static let executor = FutureExecutor.serial(
    { job in
      // The queue is asked, not the thread: under `dispatchMain()` the main queue is not on the main thread.
      if isCurrent() { job() } else { DispatchQueue.main.async(execute: job) }
    }, isCurrent: isCurrent)

  private static let isCurrent: @Sendable () -> Bool = QueueMark.isCurrent(.main)

  /// Runs a body on the main actor later, in the order of the calls.
  package func enqueue(_ body: @escaping @MainActor @Sendable () -> Void) {
    DispatchQueue.main.async { MainExecutor.assume(body) }
  }

  /// Runs a body of the main actor on the main queue.
  static func assume<Result: Sendable>(_ body: @MainActor () throws -> Result) rethrows -> Result {
    try MainActor.assumeIsolated(body)
  }
}

extension FutureExecutor {
  /// The concurrent queue of the system with this quality of service.
  public static func global(qos: DispatchQoS.QoSClass = .default) -> FutureExecutor {
    queue(DispatchQueue.global(qos: qos), isConcurrent: true)
  }

  /// A dispatch queue.
  ///
  /// - Parameters:
  ///   - queue: where jobs run.
  ///   - isConcurrent: whether the queue runs several jobs at once. A queue does not tell, and `wait(for:)` must know: on a
  ///     serial queue it throws instead of waiting for what cannot run before it returns.
  public static func queue(_ queue: DispatchQueue, isConcurrent: Bool = false) -> FutureExecutor {
    if isConcurrent { return custom { job in queue.async(execute: job) } }
    return serial({ job in queue.async(execute: job) }, isCurrent: QueueMark.isCurrent(queue))
  }
}

/// Tells whether code runs on a queue, by a mark that the queue carries.
private enum QueueMark {
  private static let key = DispatchSpecificKey<ObjectIdentifier>()

  static func isCurrent(_ queue: DispatchQueue) -> @Sendable () -> Bool {
    let mark = ObjectIdentifier(queue)
    queue.setSpecific(key: key, value: mark)
    return { DispatchQueue.getSpecific(key: key) == mark }
  }
}

/// What a thread blocks on.
final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  #if FUTURETREE_EXPLORER
    private let isOpen = Locked(false)
  #endif

  func open() {
    #if FUTURETREE_EXPLORER
      isOpen.value = true
      SchedulingPoint.explorer?.left(ObjectIdentifier(self))
    #endif
    semaphore.signal()
  }

  /// Returns false if the gate was not opened within the time.
  func wait(for duration: Duration) -> Bool {
    #if FUTURETREE_EXPLORER
      // There is no time under an explorer: either none passes, or enough.
      if let explorer = SchedulingPoint.explorer {
        while !isOpen.value {
          if duration == .zero { return false }
          explorer.wait(for: ObjectIdentifier(self))
        }
        return true
      }
    #endif
    return semaphore.wait(timeout: DispatchTime(after: SystemClock().now + min(duration, .century)))
      == .success
  }
}

// MARK: - Time

/// The clock of the machine: monotonic, and standing still while the machine sleeps.
///
/// Bodies are called on the concurrent pool of Dispatch, so that a slow one holds up no other. One timer of Dispatch serves
/// all that are waiting, and one that is cancelled is released at once.
///
/// - Complexity: O(log n) to schedule and to cancel, for n that are waiting.
public struct SystemClock: FutureClock {
  /// The clock of the machine: each value is the same clock. `.system` is shorter.
  public init() {}

  public var now: Duration { .nanoseconds(Int64(clamping: DispatchTime.now().uptimeNanoseconds)) }

  public func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
    let entry = SystemTimers.shared.insert(at: now + duration.clampedToMaximumTimerDuration, body)
    return FutureTimer { [weak entry] in
      if let entry { SystemTimers.shared.remove(entry) }
    }
  }
}

extension DispatchTime {
  fileprivate init(after origin: Duration) {
    let (seconds, attoseconds) = origin.components
    self.init(uptimeNanoseconds: UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000) + 1)
  }
}

extension FutureClock where Self == SystemClock {
  /// The clock of the machine.
  public static var system: SystemClock { SystemClock() }
}

/// Everything that waits for the clock of the machine.
private final class SystemTimers: @unchecked Sendable {  // Because: `timers` and `armed` are guarded by `lock`.
  static let shared = SystemTimers()

  private let lock = Lock()
  private var timers = TimerQueue()
  /// When `source` will fire.
  private var armed: Duration?
  private let source = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "FutureTree.SystemClock"))

  private init() {
    source.setEventHandler { [unowned self] in fire() }
    source.activate()
  }

  func insert(at deadline: Duration, _ body: @escaping TimerQueue.Body) -> TimerQueue.Entry {
    lock.withLock {
      defer { arm() }
      return timers.insert(at: deadline, body)
    }
  }

  func remove(_ entry: TimerQueue.Entry) {
    let body = lock.withLock { timers.remove(entry) }
    _ = body  // Freed here, not under the lock.
  }

  private func fire() {
    let now = SystemClock().now
    let due = lock.withLock {
      var due: [TimerQueue.Body] = []
      while let (_, body) = timers.popDue(at: now) { due.append(body) }
      armed = nil
      arm()
      return due
    }
    for body in due { DispatchQueue.global().async(execute: body) }
  }

  /// Called under the lock, so that of two threads the one with the earlier time is not overruled.
  private func arm() {
    guard let next = timers.nextDeadline, armed.map({ next < $0 }) ?? true else { return }
    armed = next
    source.schedule(deadline: DispatchTime(after: next))
  }
}
