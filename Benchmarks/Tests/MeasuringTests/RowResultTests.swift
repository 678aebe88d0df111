import Measuring
import Testing

@Suite("Results of one row") struct ResultTests {
  @Test("The ratio is the median of the rounds' ratios, not the ratio of the medians")
  func ratioOfRounds() {
    let result = RowResult(
      work: "chain", peer: "them", reading: .timesAsFast, unit: "link",
      rounds: [(ours: 10, theirs: 30), (ours: 100, theirs: 200), (ours: 10, theirs: 40)])

    #expect(result.ratio.median == 3)
    #expect(result.ours == 10)
    #expect(result.theirs == 40)
  }

  @Test(
    "Each reading computes its ratio in its own direction",
    arguments: [
      (Reading.timesAsFast, 4.0), (.timesTheCost, 0.25), (.timesAsMany, 0.25), (.throughput, 8),
    ])
  func readings(reading: Reading, ratio: Double) {
    #expect(reading.ratio(ours: 10, theirs: 40) == ratio)
  }

  @Test("The throughput ratio of two threads is relative to that of a spin loop")
  func throughput() {
    #expect(Reading.throughput.ratio(ours: 1.6, theirs: 1.6) == 2)
  }

  @Test("A timed row shows its quartiles and nanoseconds")
  func timedCells() {
    let result = RowResult(
      work: "chain", peer: "them", reading: .timesAsFast, unit: "link",
      rounds: [(ours: 50, theirs: 100), (ours: 50, theirs: 150), (ours: 50, theirs: 620)])

    #expect(result.cells == ["chain", "them", "3.00 times as fast", "2.50–7.70", "50.0 ns", "150 ns", "link"])
  }

  @Test("A counted row shows no spread")
  func countedCells() {
    let result = RowResult(
      work: "blocks", peer: "them", reading: .timesAsMany, unit: "link", rounds: [(ours: 1, theirs: 2.5)])

    #expect(result.cells == ["blocks", "them", "0.40 times as many", "counted", "1", "2.50", "link"])
  }

  @Test(
    "Numbers are rounded to a fixed count of digits",
    arguments: [
      (1.005, 1, "1.0"), (0.996, 2, "1.00"), (-2.345, 1, "-2.3"), (-0.01, 1, "0.0"), (12.05, 0, "12"), (3, 2, "3.00"),
      (.infinity, 1, "inf"),
    ])
  func fixed(number: Double, digits: Int, text: String) {
    #expect(number.fixed(digits) == text)
  }
}

@Suite("Thresholds of rows") struct ThresholdTests {
  private func result(_ reading: Reading, ours: Double, theirs: Double) -> RowResult {
    RowResult(work: "work", peer: "them", reading: reading, unit: "link", rounds: [(ours, theirs)])
  }

  @Test("A higher speed is better", arguments: [(19.0, Threshold.Verdict.missed), (20, .atLeast), (30, .goal)])
  func speed(theirs: Double, verdict: Threshold.Verdict) {
    #expect(Threshold(atLeast: 2, goal: 3).verdict(on: result(.timesAsFast, ours: 10, theirs: theirs)) == verdict)
  }

  @Test("A lower cost is better", arguments: [(21.0, Threshold.Verdict.missed), (20, .atLeast), (10, .goal)])
  func cost(ours: Double, verdict: Threshold.Verdict) {
    #expect(Threshold(atLeast: 2, goal: 1.5).verdict(on: result(.timesTheCost, ours: ours, theirs: 10)) == verdict)
  }

  @Test("A threshold can apply to our number instead of the ratio")
  func ofOurs() {
    let threshold = Threshold(atLeast: 144, goal: 128, isOfOurs: true)

    #expect(threshold.verdict(on: result(.timesAsMany, ours: 144, theirs: 1)) == .atLeast)
  }

  @Test("A ratio that rounds to the goal reaches it")
  func rounding() {
    #expect(Threshold(atLeast: 1, goal: 2).verdict(on: result(.timesAsFast, ours: 1, theirs: 1.996)) == .goal)
  }
}
