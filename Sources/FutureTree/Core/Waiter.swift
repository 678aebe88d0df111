/// An entry in the list of a future: a future, a slot of a join, an observer, an awaiting task, a blocked thread, a cancel token,
/// or an entry of a `FutureQueue`.
///
/// A derived future is itself the entry, so that a link of a chain is one object.
///
/// # Invariants
/// 1. The lock of the future that owns the list guards the position of the entry and `isCounted`. Once that future has ended,
///    they belong to the thread that notifies its waiters.
@usableFromInline
class Waiter: ListEntry, @unchecked Sendable {  // Because: see invariant 1.
  /// The typed part of the work of this entry.
  final let step: StoredStep
  /// Whether the future that this entry waits for counts it as a consumer.
  @exclusivity(unchecked) final var isCounted = false
  /// Whether this entry is a `Node`.
  final let isFuture: Bool

  @usableFromInline init(step: @escaping Step) {
    self.step = StoredStep(step)
    isFuture = false
  }

  /// Creates an entry that is a `Node`.
  init(ofNode step: StoredStep) {
    self.step = step
    isFuture = true
  }

  deinit {
    step.release()
  }

  /// The future on whose behalf the entry waits, if there is one.
  var owner: Node? { nil }

  /// A closure without captures, made where the types are known, so that it is specialized there. Returns whether the action
  /// has ended the owner of the entry, whose waiters must then be notified.
  @usableFromInline typealias Step = @Sendable (_ entry: Waiter, _ upstream: Node, _ action: Action) -> Bool

  /// The action of a step. `Node` decides the action and the time. The step of an entry that is not a future only gets `run`,
  /// once the future that it waits for has ended.
  @usableFromInline
  enum Action {
    /// Runs the body with the outcome of `upstream`. If `upstream` is the future itself, the future has ended as `.cancelled`
    /// early. Then the body receives that outcome, and its result is ignored.
    case run
    /// Succeeds with the value of `upstream`.
    case passValue
    /// Releases the body.
    case releaseBody
    /// Destroys the value of a future that is being deallocated.
    case destroyValue
    /// Calls the first observer of a source that has ended.
    case callObserver
    /// Releases the first observer of a source.
    case releaseObserver
  }
}
