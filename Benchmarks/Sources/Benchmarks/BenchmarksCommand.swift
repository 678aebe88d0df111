import ArgumentParser
import Foundation
import HeapCounter
import Measuring
import Works

/// The benchmark command. Its `main` is synchronous, because valgrind fails on an asynchronous one.
@main
struct BenchmarksCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "Benchmarks",
    abstract: "Compares FutureTree with its peers.",
    subcommands: [Compare.self, Run.self, Operations.self, Serve.self], defaultSubcommand: Compare.self)
}

struct Compare: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Measures all rows, and prints a table in Markdown.")

  @Option(help: "Measure only the rows whose work or peer contains this text.") var filter: String?
  @Option(help: "The number of rounds. Each round measures both sides by turns.") var rounds: Int?
  @Flag(help: "Measure a few short rounds only.") var quick = false
  @Flag(help: "Print JSON instead of the table.") var json = false
  @Flag(
    help:
      "Print the threshold of each row, and check the limits of instructions, blocks and bytes. Times never fail.")
  var check = false

  func validate() throws {
    if let rounds, rounds < 1 { throw ValidationError("--rounds must be at least 1") }
    if json, check { throw ValidationError("--json and --check exclude each other") }
  }

  func run() throws {
    let rows = Row.all.filter { $0.matches(filter ?? "") }
    guard !rows.isEmpty else { throw ValidationError("no row matches --filter") }
    #if DEBUG
      note("NOT OPTIMIZED: these figures are not comparable. Build with -c release.")
    #endif
    let measurement = Measurement(rounds: rounds ?? (quick ? 5 : 21), roundTime: quick ? 2e6 : 10e6)
    let results = rows.map { row in
      note("\(row.name), against \(row.peer)")
      return measurement.result(of: row)
    }
    if !heapCounterExists() { note("SKIPPED: heap blocks cannot be counted on this platform") }
    if json { try printJSON(results) } else if check { try printVerdicts(rows, results) } else { printTable(results) }
  }

  private func printTable(_ results: [RowResult]) {
    print(MarkdownTable(head: RowResult.head, rows: results.map(\.cells)).text)
  }

  private func printJSON(_ results: [RowResult]) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    print(String(decoding: try encoder.encode(results), as: UTF8.self))
  }

  private func printVerdicts(_ rows: [Row], _ results: [RowResult]) throws {
    guard Row.thresholdsWithoutRow.isEmpty || !heapCounterExists() else {
      throw ValidationError("no rows for these thresholds: \(Row.thresholdsWithoutRow.joined(separator: "; "))")
    }
    var isMissed = false
    let lines = zip(rows, results).map { row, result -> [String] in
      guard let threshold = row.threshold else { return result.cells }
      let verdict = threshold.verdict(on: result)
      if verdict == .missed, !row.reading.isTimed { isMissed = true }
      return result.cells + ["\(threshold.atLeast)", "\(threshold.goal)", verdict.rawValue]
    }
    print(MarkdownTable(head: RowResult.head + ["at least", "goal", "reached"], rows: lines).text)
    if try !InstructionLimits.areReached() { isMissed = true }
    if isMissed { throw ExitCode.failure }
  }

  private func note(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
  }
}

struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Runs one work, for a profiler.")

  @Argument(help: "The name of the work. An unknown name prints the list.") var work: String
  @Argument(help: "How often.") var repetitions: Int

  func run() throws {
    _ = try NamedWork.named(work).run(repetitions)
  }
}

struct Operations: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Prints the number of operations in one run of a work.")

  @Argument(help: "The name of the work. An unknown name prints the list.") var work: String

  func run() throws {
    print(try NamedWork.named(work).operations)
  }
}

/// The works by name, for a profiler.
enum NamedWork {
  static func named(_ name: String) throws -> Work {
    let all =
      OurWorks.all + NIOWorks.all
    guard let found = all.first(where: { $0.name == name }) else {
      throw ValidationError("no work \"\(name)\"; there are: \(all.map(\.name).joined(separator: ", "))")
    }
    return found.work
  }
}
