import FutureTree

/// The measured times and the budgets of a `Hedge`. Pure: takes no lock, calls no closure, reads no clock.
struct HedgeState {
  private struct Origin {
    var latencies = LatencyWindow()
    var lastUse = Duration.zero
  }

  private static let originLimit = 1000

  private let delay: HedgeDelay
  private var origins: [String: Origin] = [:]
  private var budgets: RetryBudgets
  /// The number of resets. A load that outlives a reset must send no second request, and must not be measured.
  private(set) var generation = 0

  init(_ delay: HedgeDelay, _ budget: RetryBudget?) {
    self.delay = delay
    budgets = RetryBudgets(budget)
  }

  var count: Int { origins.count }

  /// Returns the delay before a second request, or `nil` if too few times were measured.
  func delay(for origin: String) -> Duration? {
    switch delay.rule {
    case .constant(let delay): return delay
    case .percentile(let share, let minimum, let samples):
      guard let latencies = origins[origin]?.latencies, latencies.count >= samples else { return nil }
      return max(minimum, latencies.percentile(share)).clampedToMaximumTimerDuration
    }
  }

  /// Takes the cost of a second request. Returns `false` if the budget is used up, or the load began before a reset.
  mutating func begins(_ origin: String, _ generation: Int) -> Bool {
    generation == self.generation && budgets.spend(origin)
  }

  /// Adds the time to a response. A good response also adds to the budget.
  mutating func measured(_ time: Duration, _ origin: String, _ generation: Int, isGood: Bool, at now: Duration) {
    guard generation == self.generation else { return }
    if isGood { budgets.succeeded(origin) }
    guard delay.isAdaptive else { return }
    if origins[origin] == nil, origins.count >= HedgeState.originLimit,
      let unused = origins.min(by: { $0.value.lastUse < $1.value.lastUse })
    {
      origins[unused.key] = nil
    }
    origins[origin, default: Origin()].latencies.add(time)
    origins[origin]!.lastUse = now
  }

  /// Excludes all loads so far.
  mutating func drain() {
    generation += 1
  }

  /// Removes the times and refills the budgets. Returns the number of origins with measured times.
  mutating func wipe() -> Int {
    budgets.clear()
    defer { origins = [:] }
    return origins.count
  }
}

/// The latest response times of one origin.
struct LatencyWindow {
  static let limit = 128

  /// The times in ascending order.
  private var sorted: [Duration] = []
  /// The same times in the order of their arrival. When the window is full, `oldest` is the index of the oldest.
  private var arrivals: [Duration] = []
  private var oldest = 0

  var count: Int { sorted.count }

  /// - Precondition: At least one time was added.
  func percentile(_ share: Double) -> Duration {
    sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))]
  }

  mutating func add(_ time: Duration) {
    if arrivals.count < LatencyWindow.limit {
      arrivals.append(time)
    } else {
      sorted.remove(at: index(of: arrivals[oldest]))
      arrivals[oldest] = time
      oldest = (oldest + 1) % LatencyWindow.limit
    }
    sorted.insert(time, at: index(of: time))
  }

  /// Returns the index of the first time that is not smaller.
  private func index(of time: Duration) -> Int {
    var (low, high) = (0, sorted.count)
    while low < high {
      let middle = (low + high) / 2
      if sorted[middle] < time { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
