import Measuring
import Works

/// The measurement of a row.
struct Measurement {
  let rounds: Int
  /// The nanoseconds that each side of a round should take.
  let roundTime: Double

  /// Measures both sides in turn, so that a change of the processor's speed affects both.
  func result(of row: Row) -> RowResult {
    guard row.reading.isTimed else {
      return result(of: row, rounds: [(row.ours.run(1), row.theirs.run(1))])
    }
    let ourRepetitions = repetitions(of: row.ours)
    let theirRepetitions = repetitions(of: row.theirs)
    let rounds = (0..<rounds).map { _ in
      (ours: cost(of: row.ours, ourRepetitions), theirs: cost(of: row.theirs, theirRepetitions))
    }
    return result(of: row, rounds: rounds)
  }

  private func result(of row: Row, rounds: [(ours: Double, theirs: Double)]) -> RowResult {
    RowResult(work: row.name, peer: row.peer, reading: row.reading, unit: row.ours.unit, rounds: rounds)
  }

  /// Returns how many repetitions fit into a round, with preparations. Also warms up the work.
  private func repetitions(of work: Work) -> Int {
    var repetitions = 1
    while true {
      let time = timed { _ = work.run(repetitions) }
      if time >= roundTime / 2 { return max(1, Int(Double(repetitions) * roundTime / time)) }
      repetitions *= 2
    }
  }

  private func cost(of work: Work, _ repetitions: Int) -> Double {
    work.run(repetitions) / Double(repetitions * work.operations)
  }
}
