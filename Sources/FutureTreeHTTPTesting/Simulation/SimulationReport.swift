import FutureTree

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
