/// Measures candidates for the lock of the library. `docs/decisions/the-lock.md` has the figures.
///
///     swift run -c release --package-path Benchmarks/Works LockBenchmark [ROUNDS]
///     swift run -c release --package-path Benchmarks/Works LockBenchmark future
///
/// In each round every lock is measured in every row, so that other load of the machine affects all locks equally. A cell has
/// the median of the rounds, and the quartiles in parentheses. With `future`, it prints one round of several threads at one
/// future, with the lock that the library was built with. `-Xswiftc -DFUTURETREE_PLATFORM_LOCK` selects the other lock.
@main
enum LockBenchmark {
  static func main() {
    if CommandLine.arguments.dropFirst().first == "future" { return OneFuture.printRound() }
    let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 21
    var candidates: [any Candidate.Type] = [PlatformMutex.self, PthreadMutex.self]
    #if !canImport(Darwin)
      candidates += [ParkingFutex.self, Polling.self, Parking.self] as [any Candidate.Type]
    #endif
    print("| | " + candidates.map { $0.name }.joined(separator: " | ") + " |")
    print("|" + String(repeating: " --- |", count: candidates.count + 1))
    for row in Row.allCases {
      var figures: [[Double]] = Array(repeating: [], count: candidates.count)
      for _ in 0..<rounds {
        for (index, candidate) in candidates.enumerated() { figures[index].append(row.measure(candidate)) }
      }
      print("| \(row.rawValue) | " + figures.map(cell).joined(separator: " | ") + " |")
    }
  }

  private static func cell(_ figures: [Double]) -> String {
    let quartiles = [0.5, 0.25, 0.75].map { rounded(quantile(figures, $0)) }
    return "\(quartiles[0]) (\(quartiles[1])–\(quartiles[2]))"
  }

  private static func rounded(_ figure: Double) -> String {
    let factor = figure < 100 ? 10.0 : 1
    let rounded = (figure * factor).rounded() / factor
    return factor == 1 ? "\(Int(rounded))" : "\(rounded)"
  }
}

private enum Row: String, CaseIterable {
  case uncontended = "lock and unlock, uncontended, ns"
  case one = "1 thread, sections/µs"
  case two = "2 threads, sections/µs"
  case eight = "8 threads, sections/µs"
  case wait = "8 threads, 99.9th percentile of lock and unlock, µs"
  case rareWait = "8 threads, 99.99th percentile, µs"
  case handOver = "hand-over by a holder that slept 5 ms, µs"
  case lowPriority = "low-priority thread, sections of 1 of 2 µs: longest wait in 100 ms, µs"
  case greedyLowPriority = "low-priority thread, sections of 20 of 20 µs: longest wait in 100 ms, µs"

  func measure<Lock: Candidate>(_ lock: Lock.Type) -> Double {
    switch self {
    case .uncontended: Measures.uncontended(lock)
    case .one: Measures.throughput(of: 1)(lock)
    case .two: Measures.throughput(of: 2)(lock)
    case .eight: Measures.throughput(of: 8)(lock)
    case .wait: Measures.wait(exceededBy: 0.001)(lock)
    case .rareWait: Measures.wait(exceededBy: 0.0001)(lock)
    case .handOver: Measures.handOver(lock)
    case .lowPriority: Measures.lowPriorityHolder(inside: 1_000, outside: 1_000)(lock)
    case .greedyLowPriority: Measures.lowPriorityHolder(inside: 20_000, outside: 0)(lock)
    }
  }
}
