/// An entry in the list of a future: a future, a slot of a join, an observer, an awaiting task, a blocked thread, a cancel token,
/// or an entry of a `FutureQueue`.
///
/// A derived future is itself the entry, so that a link of a chain is one object.
///
/// # Invariants
/// 1. The lock of the future in whose list the entry is guards its place there and `isCounted`. Once that future has ended, they
///    belong to the thread that notifies its waiters.
@usableFromInline
class Waiter: ListEntry, @unchecked Sendable {  // Because: see invariant 1.
  /// What only code that knows the types can do for this entry.
  final let step: StoredStep
  /// Whether the future waited for counts this entry as a consumer.
  @exclusivity(unchecked) final var isCounted = false
  /// Whether it is a `Node`.
  final let isFuture: Bool

  @usableFromInline init(step: @escaping Step) {
    self.step = StoredStep(step)
    isFuture = false
  }

  /// An entry that is a `Node`.
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
  /// has ended the entry's owner, so that the owner's waiters are to be notified.
  @usableFromInline typealias Step = @Sendable (_ entry: Waiter, _ upstream: Node, _ action: Action) -> Bool

  /// What a step does. `Node` decides which, and when. The step of an entry that is no future only gets `run`, once the future
  /// that it waits for has ended.
  @usableFromInline
  enum Action {
    /// Runs the body with the outcome of `upstream`. Where that is the future itself, the future has ended `.cancelled` early,
    /// the body gets this outcome, and what it returns is ignored.
    case run
    /// Succeeds with the value of `upstream`.
    case passValue
    /// Releases the body.
    case releaseBody
    /// Destroys the value of a future that is being freed.
    case destroyValue
    /// Calls the first observer of a source that has ended.
    case callObserver
    /// Releases the first observer of a source.
    case releaseObserver
  }
}
