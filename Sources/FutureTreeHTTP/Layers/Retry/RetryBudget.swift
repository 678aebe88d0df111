/// A limit on the additional requests that `Retry` may send to one server, so that retries do not overload a server that is
/// recovering.
///
/// ```swift
/// let retry = Retry(budget: RetryBudget(reserve: 20, perSuccess: 0.1))  // In the long run, at most one in ten.
/// ```
///
/// Each server (scheme, host and port) begins with a full reserve. Each attempt after the first takes 1 from it. Each response
/// that indicates a healthy server adds `perSuccess` to the reserve. If less than 1 is left, there is no further attempt. The
/// cost is taken before the delay. If the load completes during the delay, the cost is returned.
public struct RetryBudget: Sendable, Hashable {
  /// The maximum number of additional attempts while no attempt succeeds.
  public let reserve: Int
  /// The amount that each success adds to the reserve.
  public let perSuccess: Double
  /// The maximum number of servers with a recorded budget. If there are more, the record of the server with the largest
  /// remaining budget is dropped, and that server begins again with a full reserve.
  public let servers: Int

  /// Creates a budget.
  ///
  /// - Parameters:
  ///   - reserve: The maximum number of additional attempts while no attempt succeeds, from 0 to 1,000,000. Values outside
  ///     this range are clamped. Defaults to 10.
  ///   - perSuccess: The amount that each success adds to the reserve. Negative values and NaN are treated as 0. Defaults to
  ///     0.2.
  ///   - servers: The maximum number of servers with a recorded budget. Values below 1 are treated as 1. Defaults to 1,000.
  public init(reserve: Int = 10, perSuccess: Double = 0.2, servers: Int = 1000) {
    self.reserve = min(max(reserve, 0), 1_000_000)
    self.perSuccess = perSuccess > 0 ? min(perSuccess, 1_000_000) : 0
    self.servers = max(servers, 1)
  }
}

/// The remaining budgets of all servers. Pure: takes no lock, calls no closure.
///
/// # Invariants
/// 1. Each value is at least 0 and less than the full reserve: a server with a full reserve is not listed.
/// 2. At most `budget.servers` servers are listed.
struct RetryBudgets {
  private let budget: RetryBudget?
  /// The remaining budgets in thousandths, so that fifths add up exactly.
  private var left: [String: Int] = [:]

  /// - Parameter budget: The limit. `nil` disables it.
  init(_ budget: RetryBudget?) {
    self.budget = budget
  }

  var isEmpty: Bool { left.isEmpty }

  var count: Int { left.count }

  /// Takes the cost of one attempt. Returns `false` if less is left.
  mutating func spend(_ server: String) -> Bool {
    guard let budget else { return true }
    let rest = left[server] ?? budget.reserve * 1000
    guard rest >= 1000 else { return false }
    left.makeRoom(for: server, limit: budget.servers, removing: >)
    left[server] = rest - 1000
    return true
  }

  /// Returns the cost of an attempt that did not begin.
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
