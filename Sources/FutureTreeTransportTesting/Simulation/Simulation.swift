import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting

/// A simulated network in which chains of layers meet faults, cancellations and resets at random times.
///
/// ```swift
/// let report = try Simulation.run(seeds: 0..<1_000) { world in
///   let throttle = Throttle(4, clock: world.clock)
///   world.expect("no slot is taken") { throttle.runningCount + throttle.waitingCount == 0 }
///   world.expectRefusals()
///   return ResetGuard() --> Autocancel(clock: world.clock) --> Retry(clock: world.clock, random: world.random)
///     --> throttle --> world.network
/// }
/// print(report)
/// ```
///
/// Each seed is a *world*: some loads, some of them streams, which begin and are cancelled at random times, some resets, and
/// faults of the network, the server, the date and the disk. Time is simulated, so hours pass in a second. At the end, the
/// simulation checks the rules of the HTTP contract:
///
/// - *Completes once*: every load, every transfer and every reset completes once.
/// - *The holder completes*, *Known before handled*, *Nothing after completion*: no request begins for callers that have asked to
///   cancel or have an outcome.
/// - *Confirmed cancellation*: a cancelled load has closed its connection, unless it was forced, or its request was withheld
///   because a reset waits for the load.
/// - *Refuse, drain, wipe*: after a reset, no earlier connection is open. The receipt of the reset agrees with its preview.
/// - *Two executions*: only its caller and a reset cancel a load, also if one request value is loaded twice.
/// - *Never shared*: each stream has its own load.
/// - *Nothing rewritten*: the header fields of a caller arrive as they are.
/// - *Credentials never cross an origin*: a secret is sent to its own host only.
/// - *No printed secret*: no error and no line of ``SimulatedWorld/log(_:)`` shows one.
/// - *Whole bodies*: a success has the whole body of an answer to the request that its response names.
/// - *Users are separated*: that answer was sent to the same user.
/// - *Events from their server*: no cache answers a request for events.
/// - No connection is open at the end, and no timer is set for later than the grace time.
/// - The rules that the scenario adds with ``SimulatedWorld/expect(_:_:)`` hold.
///
/// A world that breaks a rule is shrunk to the parts that are needed, and printed with the code that repeats it.
public enum Simulation {
  /// Runs a chain in many worlds.
  ///
  /// - Parameters:
  ///   - seeds: The seeds of the worlds. A seed always gives the same world.
  ///   - faults: The faults that may occur. Defaults to all.
  ///   - only: One world to run, as a failure prints it.
  ///   - grace: The time for which a timer may remain after everything has ended. Defaults to zero.
  ///   - scenario: Makes the chain of a world. It is called for each world, and must do the same for the same seed.
  /// - Returns: The number of worlds, faults and layers.
  /// - Throws: ``SimulationFailure``, or the error of the scenario.
  /// - Complexity: O(worlds). A failing world is run again about once for each of its parts.
  @discardableResult
  public static func run(
    seeds: Range<UInt64>, faults: [SimulatedFault] = SimulatedFault.allCases, only: SimulationCase? = nil,
    grace: Duration = .zero, _ scenario: (SimulatedWorld) throws -> any HTTPLoader
  ) throws -> SimulationReport {
    var report = SimulationReport()
    for seed in only.map({ $0.seed..<$0.seed + 1 }) ?? seeds {
      let plan = SimulationPlan(seed: seed, faults: faults, keeping: only?.parts)
      let run = try SimulationRun(plan, grace: grace, scenario)
      let (problems, time) = run.run()
      guard problems.isEmpty else { throw try shrink(plan, problems, faults, grace, scenario) }
      report.add(run.faults, run.layers, time)
    }
    return report
  }

  /// Removes parts of a plan while it breaks a rule.
  private static func shrink(
    _ plan: SimulationPlan, _ problems: [String], _ faults: [SimulatedFault], _ grace: Duration,
    _ scenario: (SimulatedWorld) throws -> any HTTPLoader
  ) throws -> SimulationFailure {
    var (smallest, broken, hasChanged) = (plan, problems, true)
    while hasChanged {
      hasChanged = false
      for number in smallest.numbers.sorted(by: >) {
        let shorter = SimulationPlan(seed: plan.seed, faults: faults, keeping: smallest.numbers.subtracting([number]))
        let found = try SimulationRun(shorter, grace: grace, scenario).run().problems
        if found.isEmpty { continue }
        (smallest, broken, hasChanged) = (shorter, found, true)
      }
    }
    let only = SimulationCase(plan.seed, keeping: smallest.numbers)
    return SimulationFailure(only, problems: broken, plan: "\(smallest)")
  }
}

/// One world of a ``Simulation``, or some parts of it.
public struct SimulationCase: Sendable, Hashable {
  /// The seed of the world.
  public let seed: UInt64
  /// The numbers of the parts that are kept, or `nil` for all.
  public let parts: Set<Int>?

  /// Creates a case, as a failure prints it.
  public init(_ seed: UInt64, keeping parts: Set<Int>? = nil) {
    self.seed = seed
    self.parts = parts
  }
}

extension SimulationCase: CustomStringConvertible {
  /// The code of the case.
  public var description: String {
    let kept = parts.map { ", keeping: [\($0.sorted().map(String.init).joined(separator: ", "))]" } ?? ""
    return "SimulationCase(\(seed)\(kept))"
  }
}

/// The error of ``Simulation``: a world broke a rule.
public struct SimulationFailure: Error, Hashable, CustomStringConvertible {
  /// The smallest world that breaks a rule.
  public let only: SimulationCase
  /// The broken rules.
  public let problems: [String]
  /// The rules, the parts of the world, and the code that repeats it.
  public let description: String

  init(_ only: SimulationCase, problems: [String], plan: String) {
    self.only = only
    self.problems = problems
    description =
      (["World \(only.seed) broke a rule."] + problems.map { "- \($0)" }
      + ["Its parts:", plan, "To repeat it: try Simulation.run(seeds: 0..<1, only: \(only)) { … }"])
      .joined(separator: "\n")
  }
}

/// The worlds of a ``Simulation`` that kept all rules.
public struct SimulationReport: Sendable, Hashable {
  /// The number of worlds.
  public private(set) var worlds = 0
  /// The simulated time of all worlds.
  public private(set) var time = Duration.zero
  /// The number of worlds with each fault and each layer that the scenario named with ``SimulatedWorld/uses(_:)``.
  public private(set) var counts: [String: [SimulatedFault: Int]] = [:]

  /// Creates a report of no world, to which others can be added.
  public init() {}

  mutating func add(_ faults: Set<SimulatedFault>, _ layers: [String], _ duration: Duration) {
    worlds += 1
    time += duration
    for layer in layers {
      for fault in faults { counts[layer, default: [:]][fault, default: 0] += 1 }
    }
  }

  /// Adds the worlds of another report.
  public mutating func add(_ other: SimulationReport) {
    worlds += other.worlds
    time += other.time
    for (layer, faults) in other.counts {
      counts[layer, default: [:]].merge(faults) { $0 + $1 }
    }
  }

  /// The smallest number of worlds for one fault and one layer, or `nil` without layers.
  public var smallestCount: Int? {
    counts.values.map { faults in SimulatedFault.allCases.map { faults[$0, default: 0] }.min() ?? 0 }.min()
  }
}

extension SimulationReport: CustomStringConvertible {
  /// One line, such as `2000 worlds, 15 hours, at least 42 worlds for each of 41 faults and 12 layers`.
  public var description: String {
    let hours = Int(time / .seconds(3_600))
    let pairs = smallestCount.map {
      ", at least \($0) worlds for each of \(SimulatedFault.allCases.count) faults and \(counts.count) layers"
    }
    return "\(worlds) worlds, \(hours) hours\(pairs ?? "")"
  }
}

extension SimulationFailure: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}
