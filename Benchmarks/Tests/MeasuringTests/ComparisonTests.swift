import Baselines
import Testing

@Suite("Figures against their baseline") struct ComparisonTests {
  private let baseline = try? Figures(
    reading: """
      # Swift version 6.3.1
      chain blocks 1
      chain instructions 640.5
      cancel blocks 0
      """)

  private func comparison(_ lines: String) throws -> Comparison {
    Comparison(of: try Figures(reading: lines), with: try #require(baseline))
  }

  @Test("A growth of 5% passes")
  func tolerance() throws {
    let comparison = try comparison("chain blocks 1.05\nchain instructions 672.5\ncancel blocks 0")

    #expect(comparison.isPassed)
    #expect(comparison.grown.isEmpty)
  }

  @Test("A larger growth fails, and the report names the figure and both values")
  func growth() throws {
    let comparison = try comparison("chain blocks 2\nchain instructions 650")

    #expect(!comparison.isPassed)
    #expect(comparison.report.contains("GREW: blocks of chain, from 1 to 2 (+100.0%)"))
    #expect(!comparison.report.contains("GREW: instructions"))
  }

  @Test("A figure of 0 must not grow")
  func fromNothing() throws {
    let comparison = try comparison("cancel blocks 0.5")

    #expect(comparison.grown.map(\.work) == ["cancel"])
    #expect(comparison.report.contains("GREW: blocks of cancel, from 0 to 0.5 (it was nothing)"))
  }

  @Test("A lower figure passes, and the report asks for new figures")
  func less() throws {
    let comparison = try comparison("chain instructions 500")

    #expect(comparison.isPassed)
    #expect(comparison.report.contains("chain needs less: instructions 641 -> 500. Renew the figures."))
  }

  @Test("A measured work without a baseline figure fails")
  func unknown() throws {
    let comparison = try comparison("promise blocks 2")

    #expect(!comparison.isPassed)
    #expect(comparison.report.contains("NO FIGURE for promise: 2 blocks"))
  }

  @Test("A baseline figure that was not measured passes and is reported")
  func unmeasured() throws {
    let comparison = try comparison("chain blocks 1")

    #expect(comparison.isPassed)
    #expect(comparison.report.contains("chain: not measured, it had 641 instructions"))
  }

  @Test("A line that is not a figure throws UnreadableLine", arguments: ["chain blocks", "chain blocks one", "chain"])
  func unreadable(line: String) {
    #expect(throws: UnreadableLine.self) { try Figures(reading: line) }
  }
}
