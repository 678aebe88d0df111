/// A slot for the newest of several pieces of work: newer work cancels the work before it.
///
/// ```swift
/// let feed = LatestFuture<Feed>()
/// feed.onOutcome(on: .main) { outcome in
///   spinner.stop()
///   list.show(outcome)
/// }
///
/// @MainActor func pullToRefresh() {
///   spinner.start()
///   feed.run { api.get("feed", as: Feed.self) }
/// }
/// ```
///
/// The future of superseded work completes as `.cancelled` at once, for a reason of the kind `superseded`. It does not wait until
/// the work has confirmed the cancellation. The work itself is asked to cancel, unless other consumers wait for it. See
/// <doc:Cancellation#Deciding-detaches>.
///
/// The closure of `onOutcome` never receives the outcome of superseded work, not even if that work had completed before, and its
/// outcome was still queued on the executor. In the example, the spinner therefore turns until the newest load has completed.
///
/// When a slot is deallocated, its newest work is asked to cancel with `doNotForwardIfOthersWaiting`. A slot can be used from any
/// thread and from inside any callback.
public final class LatestFuture<Value: Sendable>: Sendable {
  /// The closure that receives outcomes.
  private final class Receiver: Sendable {
    let executor: FutureExecutor
    let body: @Sendable (Outcome<Value>) -> Void

    init(_ executor: FutureExecutor, _ body: @escaping @Sendable (Outcome<Value>) -> Void) {
      self.executor = executor
      self.body = body
    }
  }

  private let slot = Locked(Slot())

  /// Creates an empty slot.
  public init() {}

  deinit {
    current?.cancel(.doNotForwardIfOthersWaiting, reason: .of(.abandoned, "the slot was deallocated"))
  }

  /// The future of the newest work. `nil` before the first.
  public var current: Future<Value>? { slot.withLock { $0.node }.map { Future(node: $0) } }

  /// Whether the newest work has not completed.
  public var isRunning: Bool { current.map { !$0.isCompleted } ?? false }

  /// Begins work, and cancels the work before.
  ///
  /// - Parameters:
  ///   - body: Begins the work. It is called before this method returns, outside every lock. If it throws, the future fails.
  ///   - fileID: The file of the call, for the reason of the cancellation.
  ///   - line: The line of the call, for the reason of the cancellation.
  /// - Returns: A future with the outcome of the work. It is cancelled at once when newer work begins. If another thread began
  ///   newer work while `body` ran, it is cancelled when this method returns.
  /// - Complexity: O(1).
  @discardableResult
  public func run(
    fileID: String = #fileID, line: UInt = #line, _ body: () throws -> Future<Value>
  ) -> Future<Value> {
    let number = slot.withLock { slot in
      slot.begun += 1
      return slot.begun
    }
    let future = Future.attempt(body).expirable()
    let (superseded, receiver) = slot.withLock { slot -> (Node?, AnyObject?) in
      guard number > slot.newest else { return (future.node, nil) }
      slot.newest = number
      let before = slot.node
      slot.node = future.node
      return (before, slot.receiver)
    }
    if let superseded {
      let reason = CancellationReason.of(.superseded, "newer work began in the slot").asked(fileID: fileID, line: line)
      Future<Value>(node: superseded).expire(with: .cancelled(reason), because: reason)
    }
    if let receiver { observe(future, number, unsafeDowncast(receiver, to: Receiver.self)) }
    return future
  }

  /// Asks the newest work to cancel. The same as `current?.cancel(…)`.
  ///
  /// - Returns: The receipt of the request. `nil` if no work has begun.
  @discardableResult
  public func cancel(
    _ options: CancellationOptions = [], reason: CancellationReason? = nil, fileID: String = #fileID, line: UInt = #line
  ) -> CancelReceipt? {
    current?.cancel(options, reason: reason, fileID: fileID, line: line)
  }

  /// Sets the closure that receives each outcome of work that is still the newest when the closure runs.
  ///
  /// It replaces the closure before. If work is running, the new closure receives its outcome. The closure is an observer and has
  /// no interest in the work. The slot retains it, so capture the owner of the slot weakly.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs `body`. Defaults to `.immediate`.
  ///   - body: The closure to call with the outcome.
  public func onOutcome(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Outcome<Value>) -> Void
  ) {
    let receiver = Receiver(executor, body)
    let (replaced, running) = slot.withLock { slot in
      let replaced = slot.receiver
      slot.receiver = receiver
      return (replaced, slot.node.map { ($0, slot.newest) })
    }
    withExtendedLifetime(replaced) {}  // Released outside the lock. Law 19 (no user code under a lock).
    if let (node, number) = running, node.ending == nil { observe(Future(node: node), number, receiver) }
  }

  /// Sets the closure that receives each outcome of the newest work on the main actor.
  public func onOutcome(on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Outcome<Value>) -> Void) {
    onOutcome(on: MainExecutor.executor) { outcome in MainExecutor.assume { body(outcome) } }
  }

  /// Passes the outcome of work to the closure of the slot, if both are still the newest then.
  private func observe(_ future: Future<Value>, _ number: Int, _ receiver: Receiver) {
    future.observe(on: receiver.executor) { [weak self, weak receiver] outcome in
      guard let self, let receiver else { return }
      let isNewest = self.slot.withLock { $0.newest == number && $0.receiver === receiver }
      if isNewest { receiver.body(outcome) }
    }
  }
}

/// The state of a slot. Not generic, so that no type is looked up at run time.
private struct Slot {
  /// The number of calls of `run`.
  var begun = 0
  /// The number of the newest work.
  var newest = 0
  var node: Node?
  var receiver: AnyObject?
}
