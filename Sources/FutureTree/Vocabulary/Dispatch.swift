import Dispatch

// The parts of the library that need Dispatch: executors and the system clock.

/// An executor that runs bodies on the main actor. Its only value is `.main`.
///
/// ```swift
/// feed.map(on: .main) { feed in view.show(feed) }  // The body is isolated to the main actor.
/// ```
///
/// A body runs at once if the main queue is current, and is dispatched to the main queue otherwise. This is a separate type
/// because overloads that differ only in the isolation of a closure do not compile.
public struct MainExecutor: Sendable {
  private init() {}

  /// The executor of the main actor.
  public static let main = MainExecutor()
}

extension MainExecutor {
  /// The main queue as an executor that runs jobs at once if the main queue is current.
  static let executor = FutureExecutor.serial(
    { job in
      // Checks the queue, not the thread: under `dispatchMain()` the main queue is not on the main thread.
      if substitute == nil, isCurrent() { job() } else { dispatch(job) }
    }, isCurrent: isCurrent)

  /// Receives the jobs of the main actor that the current thread or task submits. Set by tests.
  @TaskLocal private static var substitute: (@Sendable (@escaping FutureExecutor.Job) -> Void)?

  /// Runs a body on the calling thread. The jobs that it submits to the main actor go to another executor, which passes them to
  /// `run`.
  package static func substituting<Result>(
    _ substitute: @escaping @Sendable (@escaping FutureExecutor.Job) -> Void, _ body: () throws -> Result
  ) rethrows -> Result {
    try $substitute.withValue(substitute, operation: body)
  }

  /// Runs a job on the main queue, and waits for it.
  package static func run(_ job: FutureExecutor.Job) {
    if isCurrent() { job() } else { DispatchQueue.main.sync(execute: job) }
  }

  private static let isCurrent: @Sendable () -> Bool = QueueMark.isCurrent(.main)

  /// Dispatches a body to the main actor. Bodies run in the order of the calls.
  package func enqueue(_ body: @escaping @MainActor @Sendable () -> Void) {
    MainExecutor.dispatch { MainExecutor.assume(body) }
  }

  private static func dispatch(_ job: @escaping FutureExecutor.Job) {
    if let substitute { substitute(job) } else { DispatchQueue.main.async(execute: job) }
  }

  /// Runs a main-actor body. The caller is on the main queue.
  static func assume<Result: Sendable>(_ body: @MainActor () throws -> Result) rethrows -> Result {
    try MainActor.assumeIsolated(body)
  }
}

extension FutureExecutor {
  /// Whether this is the executor of the main actor.
  var isMain: Bool { target === MainExecutor.executor.target }

  /// Returns an executor for the concurrent system queue with this quality of service.
  public static func global(qos: DispatchQoS.QoSClass = .default) -> FutureExecutor {
    queue(DispatchQueue.global(qos: qos), isConcurrent: true)
  }

  /// Returns an executor that runs jobs on a dispatch queue.
  ///
  /// - Parameters:
  ///   - queue: The queue of the jobs.
  ///   - isConcurrent: Whether the queue runs several jobs at once. A queue does not expose this property, and `wait(for:)`
  ///     depends on it. On a serial queue, `wait(for:)` throws if it would block work that can only run after it returns.
  ///     Defaults to `false`.
  public static func queue(_ queue: DispatchQueue, isConcurrent: Bool = false) -> FutureExecutor {
    FutureExecutor(target: QueueTarget(queue, isConcurrent: isConcurrent))
  }

  private final class QueueTarget: Target, @unchecked Sendable {  // Because: see `Target`.
    private let queue: DispatchQueue

    init(_ queue: DispatchQueue, isConcurrent: Bool) {
      self.queue = queue
      super.init(
        submit: { job in queue.async(execute: job) }, isCurrentSerial: isConcurrent ? nil : QueueMark.isCurrent(queue))
    }

    override var name: String { "the queue “\(queue.label)”" }
  }
}

/// Detects whether code runs on a queue, by a mark stored in the queue.
private enum QueueMark {
  private static let key = DispatchSpecificKey<ObjectIdentifier>()

  static func isCurrent(_ queue: DispatchQueue) -> @Sendable () -> Bool {
    let mark = ObjectIdentifier(queue)
    queue.setSpecific(key: key, value: mark)
    return { DispatchQueue.getSpecific(key: key) == mark }
  }
}

/// A gate on which a thread blocks until it is opened.
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

  /// Blocks until the gate is opened. Returns false if the time passed first.
  func wait(for duration: Duration) -> Bool {
    #if FUTURETREE_EXPLORER
      // An explorer has no time: either no time passes, or enough.
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

/// The system clock. It is monotonic, and stops while the machine sleeps.
///
/// Bodies run on the concurrent pool of Dispatch, so a slow body does not delay others. One Dispatch timer serves all scheduled
/// bodies. A cancelled body is released at once.
///
/// - Complexity: O(log n) to schedule, where n is the number of scheduled bodies. O(1) to cancel.
public struct SystemClock: FutureClock {
  /// Creates a system clock. All values represent the same clock. `.system` is a shorthand.
  public init() {}

  public var now: Duration { .nanoseconds(Int64(clamping: DispatchTime.now().uptimeNanoseconds)) }

  public func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
    let entry = SystemTimers.shared.insert(at: now + duration.clampedToMaximumTimerDuration, body)
    return FutureTimer { SystemTimers.shared.remove(entry) }
  }
}

extension DispatchTime {
  fileprivate init(after origin: Duration) {
    let (seconds, attoseconds) = origin.components
    self.init(uptimeNanoseconds: UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000) + 1)
  }
}

extension FutureClock where Self == SystemClock {
  /// The system clock.
  public static var system: SystemClock { SystemClock() }
}

/// The bodies scheduled on the system clock.
private final class SystemTimers: @unchecked Sendable {  // Because: `timers` and `armed` are guarded by `lock`.
  static let shared = SystemTimers()

  private let lock = Lock()
  private var timers = TimerQueue()
  /// The deadline to which `source` is set.
  private var armed: Duration?
  private let source = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "FutureTree.SystemClock"))

  private init() {
    source.setEventHandler { [unowned self] in fire() }
    source.activate()
  }

  func insert(at deadline: Duration, _ body: @escaping TimerQueue.Body) -> TimerQueue.Entry {
    lock.withLock {
      arm(at: deadline)
      return timers.insert(at: deadline, body)
    }
  }

  func remove(_ entry: TimerQueue.Entry) {
    lock.release { timers.remove(entry) }
  }

  private func fire() {
    let now = SystemClock().now
    let due = lock.withLock {
      var due: [TimerQueue.Body] = []
      while let (_, body) = timers.popDue(at: now) { due.append(body) }
      armed = nil
      if let next = timers.nextDeadline { arm(at: next) }
      return due
    }
    for body in due { DispatchQueue.global().async(execute: body) }
  }

  /// Sets `source` to a deadline, unless it is set to an earlier one. Called under the lock.
  private func arm(at deadline: Duration) {
    guard armed.map({ deadline < $0 }) ?? true else { return }
    armed = deadline
    source.schedule(deadline: DispatchTime(after: deadline))
  }
}
