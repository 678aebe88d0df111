import FutureTree

/// The loads of a `Retry` and its remaining budgets. Pure: takes no lock, calls no closure.
///
/// # Invariants
/// 1. A load is listed from its beginning to its end or to a reset, and its pause while the load waits for it.
/// 2. A load that began before a reset begins no further attempt, and neither takes from a budget nor adds to it.
/// 3. The cost of the next attempt stays in `reserved` until that attempt begins. If the load completes before, the
///    cost is returned.
/// 4. A removed pause is returned to the caller, so that it is cancelled and released outside the lock.
struct RetryState {
  /// The number of a load.
  typealias Load = Int

  private var lastNumber = 0
  private var live: Set<Int> = []
  private var pauses: [Int: Future<Void>] = [:]
  /// The servers from whose budgets a cost was taken, by the number of the load.
  private var reserved: [Int: String] = [:]
  private var budgets: RetryBudgets

  init(_ budget: RetryBudget?) {
    budgets = RetryBudgets(budget)
  }

  var isEmpty: Bool { live.isEmpty && pauses.isEmpty && reserved.isEmpty && budgets.isEmpty }

  var waitingCount: Int { pauses.count }

  /// Whether any budget is not full.
  var hasSpent: Bool { !budgets.isEmpty }

  mutating func came() -> Load {
    lastNumber += 1
    live.insert(lastNumber)
    return lastNumber
  }

  /// Returns whether another attempt of the load may begin.
  func isCurrent(_ load: Load) -> Bool { live.contains(load) }

  /// Takes the cost of an attempt. Returns `false` if the budget is used up, or the load must have no further attempt.
  mutating func spend(_ load: Load, on server: String) -> Bool {
    guard isCurrent(load), budgets.spend(server) else { return false }
    reserved[load] = server
    return true
  }

  mutating func succeeded(_ load: Load, on server: String) {
    if isCurrent(load) { budgets.succeeded(server) }
  }

  /// Stores the pause of a load. Returns `false` if the load has completed or the chain was reset.
  mutating func waits(_ load: Load, for pause: Future<Void>) -> Bool {
    guard isCurrent(load) else { return false }
    pauses[load] = pause
    return true
  }

  /// Registers that the next attempt of a load begins. Returns its pause.
  mutating func hasWaited(_ load: Load) -> Future<Void>? {
    reserved[load] = nil
    return pauses.removeValue(forKey: load)
  }

  /// Registers that a load has ended. Returns the pause that is no longer needed.
  mutating func ended(_ load: Load) -> Future<Void>? {
    live.remove(load)
    if let server = reserved.removeValue(forKey: load) { budgets.putBack(server) }
    return pauses.removeValue(forKey: load)
  }

  /// Forgets all loads. Returns the pauses to cancel, in the order in which their loads began.
  mutating func drain() -> [Future<Void>] {
    (live, reserved) = ([], [:])
    defer { pauses = [:] }
    return pauses.sorted { $0.key < $1.key }.map(\.value)
  }

  mutating func wipe() {
    budgets.clear()
  }
}
