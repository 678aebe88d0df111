import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("Event log: recording without side effects") struct LoggedProgramTests {
  @Test("Random programs behave as the model does while they are logged")
  func programs() {
    var tally = LawTally()
    let count = LongTest.count(4_000, small: 1_000)
    for seed in 0..<count {
      let program = ProgramGenerator.program(seed: UInt64(seed))
      let log = FutureLog(clock: ManualClock())
      let difference = ModelRun.difference(in: program, log: log, tally: &tally)
      let problems = LoggedProgramTests.problems(in: log.events)

      guard difference != nil || !problems.isEmpty else { continue }
      let text = difference?.description ?? ""
      Issue.record("seed \(seed): \(text), \(problems)\n\(SwiftReproduction(program: program))")
      return
    }
    guard count >= 4_000 else { return }  // Fewer programs do not reach every law.
    for law in Law.sequential { #expect(tally[law] > 0, "law \(law.rawValue) decided nothing") }
  }

  /// Returns the futures that did not complete exactly once by the end of a program.
  private static func problems(in events: [FutureEvent]) -> [String] {
    Dictionary(grouping: events, by: \.future).compactMap { future, life in
      let ends = life.indices.filter { index in
        switch life[index].fact {
        case .succeeded, .failed, .cancelled: true
        default: false
        }
      }
      let isOrdered = life.first.map { $0.fact == .created || $0.fact == .joined } == true
      return ends.count == 1 && isOrdered ? nil : "future \(future): \(life.map(\.fact))"
    }
  }
}
