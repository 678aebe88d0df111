import Baselines
import Testing

@Suite("Limits of figures") struct LimitTests {
  private let figures = Figures([
    Figures.Figure(work: "chain", measure: "instructions", value: 800),
    Figures.Figure(work: "recover", measure: "instructions", value: 1000),
    Figures.Figure(work: "layers", measure: "blocks", value: 50),
  ])

  @Test(
    "A count must not exceed its limit",
    arguments: [(799.0, Limit.Verdict.missed), (800, .atLeast), (900, .atLeast)])
  func count(atLeast: Double, verdict: Limit.Verdict) {
    #expect(Limit("chain", atLeast: atLeast, goal: 700).verdict(on: figures) == verdict)
  }

  @Test("A figure that reaches the goal has the verdict `goal`")
  func goal() {
    #expect(Limit("chain", atLeast: 900, goal: 800).verdict(on: figures) == .goal)
  }

  @Test("A ratio compares two counts of one measure")
  func ratio() {
    let limit = Limit("recover", timesThoseOf: "chain", atLeast: 1.3, goal: 1.1)

    #expect(limit.figure(in: figures) == 1.25)
    #expect(limit.verdict(on: figures) == .atLeast)
    #expect(limit.row(for: figures) == "| `recover` | 1.25 | 1.3 | 1.1 | times those of `chain` | at least |")
  }

  @Test("Blocks are not instructions")
  func measures() {
    #expect(Limit("layers", "blocks", atLeast: 60, goal: 40).verdict(on: figures) == .atLeast)
    #expect(Limit("layers", atLeast: 60, goal: 40).verdict(on: figures) == .unmeasured)
  }

  @Test("A limit whose work was not measured has the verdict `unmeasured`")
  func unmeasured() {
    #expect(Limit("chain", timesThoseOf: "promise", atLeast: 2, goal: 1).verdict(on: figures) == .unmeasured)
    #expect(Limit("promise", atLeast: 2, goal: 1).row(for: figures).hasSuffix("| NOT MEASURED |"))
  }
}
