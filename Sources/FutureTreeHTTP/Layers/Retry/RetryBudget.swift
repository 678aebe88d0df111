/// How many more requests than without it a `Retry` may send to one server, so that clients do not keep down a server that
/// tries to come back.
///
/// ```swift
/// let retry = Retry(budget: RetryBudget(reserve: 20, perSuccess: 0.1))  // One in ten in the long run.
/// ```
///
/// Each server (scheme, host and port) begins with a full reserve. Each attempt after the first takes one from it, an answer
/// that shows the server well gives a part of one back, and where less than one is left there is no other attempt. It is
/// taken before the back-off, and one whose load ends in that gives it back.
public struct RetryBudget: Sendable, Hashable {
  /// How many attempts may follow each other while nothing succeeds.
  public let reserve: Int
  /// How much of an attempt a success gives back.
  public let perSuccess: Double
  /// For how many servers it is counted at most. Beyond that, the one that has most left is taken for a new one.
  public let servers: Int

  /// A budget. What is negative or no number counts as zero, and no reserve is more than a million.
  public init(reserve: Int = 10, perSuccess: Double = 0.2, servers: Int = 1000) {
    self.reserve = min(max(reserve, 0), 1_000_000)
    self.perSuccess = perSuccess > 0 ? min(perSuccess, 1_000_000) : 0
    self.servers = max(servers, 1)
  }
}

/// What is left of the budgets of all servers, as a value. Pure: takes no lock, calls nobody.
///
/// # Invariants
/// 1. Each number is from 0 to less than the full reserve: a server that has all of it is not listed.
/// 2. At most `budget.servers` are listed.
struct RetryBudgets {
  private let budget: RetryBudget?
  /// In thousandths, so that fifths add up.
  private var left: [String: Int] = [:]

  /// - Parameter budget: nil if there is no limit.
  init(_ budget: RetryBudget?) {
    self.budget = budget
  }

  var isEmpty: Bool { left.isEmpty }

  var count: Int { left.count }

  /// Takes one attempt. Returns false if there is none left.
  mutating func spend(_ server: String) -> Bool {
    guard let budget else { return true }
    let rest = left[server] ?? budget.reserve * 1000
    guard rest >= 1000 else { return false }
    if left[server] == nil, left.count >= budget.servers, let fullest = left.max(by: { $0.value < $1.value }) {
      left[fullest.key] = nil
    }
    left[server] = rest - 1000
    return true
  }

  /// Gives back an attempt that did not begin.
  mutating func putBack(_ server: String) {
    add(1000, to: server)
  }

  mutating func succeeded(_ server: String) {
    if let budget { add(Int((budget.perSuccess * 1000).rounded()), to: server) }
  }

  private mutating func add(_ thousandths: Int, to server: String) {
    guard let budget, let rest = left[server] else { return }
    let more = rest + thousandths
    left[server] = more < budget.reserve * 1000 ? more : nil
  }

  mutating func clear() {
    left = [:]
  }
}
