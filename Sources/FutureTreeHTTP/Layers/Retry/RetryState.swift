import FutureTree

/// The loads of a `Retry` and what is left of its budgets, as a value. Pure: takes no lock, calls nobody.
///
/// # Invariants
/// 1. A load is listed from when it came until it has ended; its pause while it waits for that.
/// 2. A load that came before a reset begins no further attempt, and takes from no budget and gives to none.
/// 3. What a load took from a budget for its next attempt is in `reserved` until that begins, and goes back if the load ends
///    before.
/// 4. A pause that is taken out is returned, so that it is cancelled and freed outside the lock.
struct RetryState {
  struct Load {
    let number: Int
    fileprivate let generation: Int
  }

  private var generation = 0
  private var lastNumber = 0
  private var live: Set<Int> = []
  private var pauses: [Int: Future<Void>] = [:]
  /// The servers from whose budgets something was taken.
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
    return Load(number: lastNumber, generation: generation)
  }

  /// Whether another attempt of it may begin.
  func isCurrent(_ load: Load) -> Bool { load.generation == generation && live.contains(load.number) }

  /// Returns false if there is no attempt left for this server, or the load is to have none.
  mutating func spend(_ load: Load, on server: String) -> Bool {
    guard isCurrent(load), budgets.spend(server) else { return false }
    reserved[load.number] = server
    return true
  }

  mutating func succeeded(_ load: Load, on server: String) {
    if load.generation == generation { budgets.succeeded(server) }
  }

  /// It waits for this. Returns false if it has ended, or a reset came.
  mutating func waits(_ load: Load, for pause: Future<Void>) -> Bool {
    guard isCurrent(load) else { return false }
    pauses[load.number] = pause
    return true
  }

  /// It has waited, and its next attempt begins.
  mutating func hasWaited(_ load: Load) -> Future<Void>? {
    reserved[load.number] = nil
    return pauses.removeValue(forKey: load.number)
  }

  /// It has ended. Returns the pause that is not needed any more.
  mutating func ended(_ load: Load) -> Future<Void>? {
    live.remove(load.number)
    if let server = reserved.removeValue(forKey: load.number) { budgets.putBack(server) }
    return pauses.removeValue(forKey: load.number)
  }

  /// Returns the pauses to cancel, in the order in which their loads came.
  mutating func reset() -> [Future<Void>] {
    generation += 1
    budgets.clear()
    reserved = [:]
    defer { pauses = [:] }
    return pauses.sorted { $0.key < $1.key }.map(\.value)
  }
}
