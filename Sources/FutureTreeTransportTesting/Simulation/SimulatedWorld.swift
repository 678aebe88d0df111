import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting

/// One simulated network with its server, its clock and its disk. See ``Simulation``.
///
/// - Note: A world is used on the thread of ``Simulation/run(seeds:faults:only:grace:_:)``.
public final class SimulatedWorld: @unchecked Sendable {  // Because: one thread runs a world.
  /// The time of the world. Pass it to every layer.
  public let clock: ManualClock
  /// The random numbers of the world. Pass them to every layer that uses some.
  public let random: RandomSource
  /// The transport, which ends the chain.
  public let network: SimulatedNetwork
  /// The seed of the world.
  public let seed: UInt64
  /// The date of the world, which can jump. Pass it to every layer that reads dates.
  public let date: WallClock

  private let dateOffset = Locked(Duration.zero)
  private var temporary: SimulatedDisk?
  private(set) var secrets: Set<String> = []
  private(set) var lines: [String] = []
  private(set) var rules: [(text: String, holds: () -> Bool)] = []
  private(set) var layers: [String] = []
  var allowsBackgroundLoads = false
  var refusesDuringReset = false

  init(_ plan: SimulationPlan) {
    seed = plan.seed
    clock = ManualClock()
    random = .seeded(plan.seed &+ 1)
    let (wall, offset) = (clock.wallClock(), dateOffset)
    date = WallClock { wall.now.addingTimeInterval(offset.value / .seconds(1)) }
    let secret = { @Sendable (host: String) in SimulatedWorld.secret(plan.seed, host) }
    network = SimulatedNetwork(clock: clock, secret: secret, faults: { plan.fault($0) })
    secrets = Set(["a.example", "b.example", "other.example"].map(secret))
  }

  private static func secret(_ seed: UInt64, _ host: String) -> String { "secret-\(seed)-of-\(host)" }

  /// The secret of a host. The world checks that it is sent to no other host, and that no error and no line shows it.
  public func secret(of host: String) -> String { SimulatedWorld.secret(seed, host) }

  /// The credential of a user for a host. It contains the secret of the host.
  func credential(of user: Int, for host: String) -> String { secret(of: host) + SimulatedWorld.userMark + "\(user)" }

  /// The text before the number of a user in a credential.
  static let userMark = "-of-user-"

  /// A directory on the simulated disk. It is removed after the run.
  public var directory: URL {
    get throws {
      let disk = try temporary ?? SimulatedDisk()
      temporary = disk
      return disk.directory
    }
  }

  /// Adds a line of a log, which must not show a secret.
  public func log(_ line: String) { lines.append(line) }

  /// Adds a rule that must hold at the end, such as `throttle.runningCount == 0`.
  public func expect(_ text: String, _ holds: @escaping () -> Bool) { rules.append((text, holds)) }

  /// Names the layers of the chain, for the table of ``SimulationReport``.
  public func uses(_ layers: String...) { self.layers += layers }

  /// Allows requests for which no caller waits, such as revalidations in the background.
  public func expectBackgroundLoads() { allowsBackgroundLoads = true }

  /// Expects that loads which begin during a reset fail with `resetInProgress`.
  public func expectRefusals() { refusesDuringReset = true }

  /// Moves the date, and not the time.
  func jump(_ duration: Duration) { dateOffset.withLock { $0 += duration } }

  func removeRules() { rules = [] }
}

/// A directory that exists as long as this object.
private final class SimulatedDisk {
  let directory: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("FutureTree-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(at: directory) }
}
