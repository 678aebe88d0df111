import Foundation
import TestSupport
import Testing

@Suite("Model: random programs against the contract")
struct ContractModelTests {
  /// The environment sets the count and the first seed, to run more programs or other ones.
  private static let count = LongTest.number("FUTURETREE_PROGRAMS") ?? LongTest.count(20_000, small: 2_500)
  private static let firstSeed = LongTest.number("FUTURETREE_SEED") ?? 0

  @Test("The library behaves as the model in every program")
  func programs() {
    var tally = LawTally()
    var operations = 0
    let start = Date()
    for seed in Self.firstSeed..<Self.firstSeed + Self.count {
      let program = ProgramGenerator.program(seed: UInt64(seed))
      operations += program.count
      guard let difference = ModelRun.difference(in: program, tally: &tally) else { continue }
      return report(difference, in: program, seed: seed)
    }
    let speed = Int(Double(Self.count) / Date().timeIntervalSince(start))
    print("model: \(Self.count) programs, \(operations) operations, \(speed) programs a second")
    print("model: " + Law.sequential.map { "law \($0.rawValue) \(tally[$0])" }.joined(separator: ", "))
    guard Self.count >= 10_000 else { return }  // Fewer programs do not cover every law.
    for law in Law.sequential { #expect(tally[law] > 0, "law \(law.rawValue) decided nothing") }
  }

  private func report(_ difference: ModelDifference, in program: [ModelOperation], seed: Int) {
    let shrunk = Shrinker.failing.shrink(program)
    var ignored = LawTally()
    let smallest = ModelRun.difference(in: shrunk, tally: &ignored)
    Issue.record(
      """
      seed \(seed), step \(difference.step): \(difference)
      in \(shrunk.count) operations, step \(smallest?.step ?? 0): \(smallest?.description ?? "")
      \(SwiftReproduction(program: shrunk))
      """)
  }
}
