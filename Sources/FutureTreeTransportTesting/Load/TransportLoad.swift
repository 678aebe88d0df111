import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting

/// A load test of a transport that counts the resources it leaves behind: descriptors, threads and memory.
///
/// ```swift
/// let load = TransportLoad("MyTransport") { MyTransport() }
/// let report = try await load.run(cancelled: 10_000)
/// print(report)
/// #expect(report.isClean)
/// ```
///
/// A run uses one transport and many loads at a time, against a `LoopbackServer`. It begins with a warm-up, which fills the pools
/// of threads and connections. The resources of the process are counted after the warm-up, and after the loads.
///
/// The choices of a run are random numbers from a seed. The order of the events is not repeatable, because the loads run at the
/// same time.
///
/// - Note: The counts are those of the process. Run it in a process without other work, such as an exit test or a program.
public struct TransportLoad: Sendable {
  /// The name of the transport, for the report.
  public let name: String

  private let seed: UInt64
  private let tolerance: ProcessResources
  private let clock: any FutureClock
  private let makeTransport: @Sendable () throws -> any HTTPLoader

  /// The number of loads at a time.
  private static let width = 16
  /// The number of operations for each server. A server records all requests, so its memory grows.
  private static let roundSize = 1_000

  /// The resources that a transport may hold in addition to those after the warm-up, by default: 16 descriptors, 2 threads and
  /// 32 MiB. A pool of connections can keep connections that the server has closed.
  public static let defaultTolerance = ProcessResources(descriptors: 16, threads: 2, residentBytes: 32 << 20)

  /// Creates a load test.
  ///
  /// - Parameters:
  ///   - name: The name of the transport, for the report.
  ///   - seed: The seed of the random numbers. Defaults to 1.
  ///   - tolerance: The resources that the transport may hold in addition to those after the warm-up. Defaults to
  ///     `defaultTolerance`.
  ///   - clock: The clock of the waits: for pending loads, and for threads and descriptors that are about to close. Defaults to
  ///     the system clock.
  ///   - makeTransport: Creates a transport without time limits. It is called once for each run.
  public init(
    _ name: String, seed: UInt64 = 1, tolerance: ProcessResources = defaultTolerance,
    clock: any FutureClock = .system, makeTransport: @escaping @Sendable () throws -> any HTTPLoader
  ) {
    self.name = name
    self.seed = seed
    self.tolerance = tolerance
    self.clock = clock
    self.makeTransport = makeTransport
  }

  /// Runs requests and streams that are cancelled at random bytes, with each of the cancellation options.
  ///
  /// - Parameters:
  ///   - count: The number of requests, and the number of streams.
  /// - Throws: `LoopbackServerError`, or the error of the closure that creates the transport.
  public func run(cancelled count: Int) async throws -> Report {
    try await run("\(count) cancelled requests and \(count) cancelled streams", LoadOperation.cancellations) {
      $0 >= 2 * count
    }
  }

  /// Runs a mix of whole, cut, reset, slow and cancelled requests, uploads and streams, and resets of the transport.
  ///
  /// - Parameter count: The number of operations.
  /// - Throws: `LoopbackServerError`, or the error of the closure that creates the transport.
  public func run(mixed count: Int) async throws -> Report {
    try await run("\(count) mixed operations", LoadOperation.mixed) { $0 >= count }
  }

  /// Runs a mix of operations for a time.
  ///
  /// - Parameter duration: The time after which no operation begins.
  /// - Throws: `LoopbackServerError`, or the error of the closure that creates the transport.
  public func run(for duration: Duration) async throws -> Report {
    let end = clock.now + duration
    return try await run("mixed operations for \(duration.rounded)", LoadOperation.mixed) { [clock] _ in
      clock.now >= end
    }
  }

  // MARK: - Running

  /// - Parameter isOver: Returns whether the run is over after a number of operations.
  private func run(
    _ title: String, _ operations: [LoadOperation], until isOver: @escaping @Sendable (_ count: Int) -> Bool
  ) async throws -> Report {
    let loader = try makeTransport()
    let random = RandomSource.seeded(seed)
    // The warm-up has two rounds, because a pool keeps connections to the server of the round before.
    for _ in 0..<2 { _ = try await round(of: Self.roundSize, operations, loader, random) }
    let before = await settled(at: nil)
    var outcomes = LoadOutcomes()
    var count = 0
    while !isOver(count) {
      let size = (1...Self.roundSize).first { isOver(count + $0) } ?? Self.roundSize
      outcomes.merge(try await round(of: size, operations, loader, random))
      count += size
    }
    outcomes.checkSuccesses()
    let after = await settled(at: before)
    return Report(
      name: name, title: title, before: before, after: after, tolerance: tolerance, count: count,
      outcomes: outcomes.counts, faults: outcomes.faults)
  }

  /// Runs operations against one server, and resets the transport.
  private func round(
    of size: Int, _ operations: [LoadOperation], _ loader: any HTTPLoader, _ random: RandomSource
  ) async throws -> LoadOutcomes {
    var random = random
    let round = try LoadRound(loader, clock)
    let remaining = Locked((0..<size).map { operations[$0 % operations.count] }.shuffled(using: &random))
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<Self.width {
        group.addTask { [random] in
          var random = random
          while let operation = remaining.withLock({ $0.popLast() }) { await round.perform(operation, &random) }
        }
      }
    }
    return await round.end()
  }

  /// Returns the resources after a quiet time, in which idle threads end and the platform closes descriptors. If they exceed those
  /// before by more than the tolerance, it waits again, at most five times.
  ///
  /// Dispatch ends a thread that has been idle for five seconds. Shorter waits would wake the threads in turn, so that none ends.
  private func settled(at before: ProcessResources?) async -> ProcessResources {
    var held = ProcessResources.current
    for _ in 0..<5 {
      _ = await Future.after(.seconds(6), clock: clock).outcome
      held = ProcessResources.current
      guard let before, !tolerance.faults(before, held).isEmpty else { break }
    }
    return held
  }
}

extension ProcessResources {
  /// The resources that exceed those before by more than this tolerance, as text.
  func faults(_ before: ProcessResources, _ after: ProcessResources) -> [String] {
    let grown: [(String, Int?, Int?, Int?)] = [
      ("descriptors", before.descriptors, after.descriptors, descriptors),
      ("threads", before.threads, after.threads, threads),
      ("bytes of resident memory", before.residentBytes, after.residentBytes, residentBytes),
    ]
    return grown.compactMap { name, before, after, allowed in
      guard let before, let after, let allowed, after - before > allowed else { return nil }
      return "\(after - before) \(name) are left. The tolerance is \(allowed)."
    }
  }
}

extension TransportLoad {
  /// Runs what the arguments of a program select, and prints the reports.
  ///
  /// ```swift
  /// let load = TransportLoad("MyTransport") { MyTransport() }
  /// exit(await load.run(arguments: Array(CommandLine.arguments.dropFirst())))
  /// ```
  ///
  /// | argument | run |
  /// | --- | --- |
  /// | `--cancelled COUNT` | `run(cancelled:)` |
  /// | `--mixed COUNT` | `run(mixed:)` |
  /// | `--minutes COUNT` | `run(for:)` |
  ///
  /// Several runs are made in the order of the arguments.
  ///
  /// - Parameter arguments: The arguments of the program, without its name.
  /// - Returns: The exit code of the program: 0 if all reports are clean, 1 if one is not or a run could not begin, and 64 if the
  ///   arguments are invalid.
  public func run(arguments: [String]) async -> Int32 {
    guard !arguments.isEmpty, arguments.count.isMultiple(of: 2) else { return refuse() }
    var runs: [@Sendable () async throws -> Report] = []
    for index in stride(from: 0, to: arguments.count, by: 2) {
      guard let count = Int(arguments[index + 1]), count > 0 else { return refuse() }
      switch arguments[index] {
      case "--cancelled": runs.append { try await run(cancelled: count) }
      case "--mixed": runs.append { try await run(mixed: count) }
      case "--minutes": runs.append { try await run(for: .seconds(60 * count)) }
      default: return refuse()
      }
    }
    var code: Int32 = 0
    for run in runs {
      do {
        let report = try await run()
        print(report)
        if !report.isClean { code = 1 }
      } catch {
        print("The run failed: \(error)")
        code = 1
      }
    }
    return code
  }

  private func refuse() -> Int32 {
    print(
      "The arguments are invalid. Pass one or more of `--cancelled COUNT`, `--mixed COUNT` and `--minutes COUNT`, with counts "
        + "above 0.")
    return 64
  }
}
