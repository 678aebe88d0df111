import Synchronization

/// The life cycle of a scope, as a value. Pure: takes no lock, calls no closure.
///
/// # Invariants
/// 1. An ended scope begins no work. It is settled when it has ended, no work is in flight, and every due undo has completed.
/// 2. One undo runs at a time, in the reverse order in which their steps succeeded, also across nested scopes.
/// 3. Once a request was received, the scope does not commit.
struct ScopeState {
  /// The compensation for a step that has succeeded.
  struct Undo {
    let name: String
    /// The position of the success of the step among all steps.
    let position: Int
    let run: @Sendable () -> Future<Void>
  }

  enum Action {
    case undo(Undo)
    /// The scope is settled. A committed child passes its undos to its parent.
    case settle(Outcome<Void>, passing: [Undo])
  }

  private(set) var isEnded = false
  private(set) var isCommitted = false
  private var isSettled = false
  /// The reason of the first request, if there was one.
  private(set) var reason: CancellationReason?
  private var working = 0
  private(set) var undone = 0
  private var undos: [Undo] = []
  private var isUndoing = false
  private var failures: [UndoFailed.Failure] = []

  /// Counts work that begins. Returns false, and does nothing, if the scope has ended.
  mutating func begin() -> Bool {
    guard !isEnded else { return false }
    working += 1
    return true
  }

  /// Counts a step with an undo. The scope waits for it even if it has ended. Returns false if the scope is settled.
  mutating func beginStep() -> Bool {
    guard !isSettled else { return false }
    working += 1
    return true
  }

  mutating func workEnded() { working -= 1 }

  /// Registers the undo of a step that has just succeeded.
  mutating func register(_ name: String, _ run: @escaping @Sendable () -> Future<Void>) {
    let position = ScopeState.successes.add(1, ordering: .relaxed).newValue
    undos.append(Undo(name: name, position: position, run: run))
  }

  /// The number of steps with an undo that have succeeded, in all scopes.
  private static let successes = Atomic(0)

  mutating func adopt(_ passed: [Undo]) {
    undos = (undos + passed).sorted { $0.position < $1.position }
  }

  /// Returns false if the scope had ended.
  mutating func end(asked request: CancellationReason? = nil) -> Bool {
    receive(request)
    defer { isEnded = true }
    return !isEnded
  }

  /// Records the first request.
  mutating func receive(_ request: CancellationReason?) {
    if reason == nil, !isSettled { reason = request }
  }

  /// Returns false if a request was received, or if undos have begun.
  mutating func commit() -> Bool {
    guard reason == nil, !isSettled, !isUndoing, undone == 0, failures.isEmpty else { return false }
    isCommitted = true
    return true
  }

  mutating func undid(_ undo: Undo, _ outcome: Outcome<Void>) {
    isUndoing = false
    switch outcome {
    case .success: undone += 1
    case .failure(let error): failures.append(UndoFailed.Failure(name: undo.name, error: error))
    case .cancelled(let reason):
      failures.append(UndoFailed.Failure(name: undo.name, error: FutureCancelled(reason: reason)))
    }
  }

  /// Returns the next action, if one is due.
  mutating func next() -> Action? {
    guard isEnded, working == 0, !isUndoing, !isSettled else { return nil }
    if !isCommitted, let undo = undos.popLast() {
      isUndoing = true
      return .undo(undo)
    }
    isSettled = true
    defer { undos = [] }
    return .settle(outcome, passing: isCommitted ? undos : [])
  }

  private var outcome: Outcome<Void> {
    if !failures.isEmpty { return .failure(UndoFailed(undone: undone, failures: failures)) }
    return reason.map { .cancelled($0) } ?? .success(())
  }
}
