import Baselines
import Foundation
import HeapCounter
import Works

/// The program behind `Benchmarks/guard`. Its main is synchronous, because valgrind does not survive another.
@main
enum CountWorks {
  static func main() {
    do {
      try run(Array(CommandLine.arguments.dropFirst()))
    } catch {
      fail("\(error)")
    }
  }

  private static func run(_ arguments: [String]) throws {
    switch (arguments.first, arguments.count) {
    case ("names", 1):
      for (name, _) in OurWorks.guarded { print(name) }
    case ("operations", 2):
      print(work(arguments[1]).operations)
    case ("run", 3):
      _ = work(arguments[1]).run(Int(arguments[2]) ?? 1)
    case ("blocks", 1):
      guard heapCounterCountsAll() else { return }
      for (name, work) in OurWorks.guarded { print(name, "blocks", blocks(of: work)) }
    case ("compare", 3):
      try compare(with: arguments[1], measured: arguments[2])
    default:
      fail("usage: CountWorks names | operations WORK | run WORK REPETITIONS | blocks | compare BASELINE MEASURED")
    }
  }

  private static func work(_ name: String) -> Work {
    guard let found = OurWorks.all.first(where: { $0.name == name }) else {
      fail("no work \"\(name)\"; there are: \(OurWorks.all.map(\.name).joined(separator: ", "))")
    }
    return found.work
  }

  /// The heap blocks of one operation: the difference of two runs, so that what happens only once cancels out.
  private static func blocks(of work: Work) -> Double {
    func count(_ repetitions: Int) -> Int64 {
      heapCounterStart()
      _ = work.run(repetitions)
      heapCounterStop()
      return heapCounterRead().allocatedBlocks
    }
    _ = work.run(1)
    return Double(count(3) - count(1)) / Double(2 * work.operations)
  }

  private static func compare(with baseline: String, measured: String) throws {
    let comparison = Comparison(
      of: try Figures(reading: String(contentsOfFile: measured, encoding: .utf8)),
      with: try Figures(reading: String(contentsOfFile: baseline, encoding: .utf8)))
    print(comparison.report)
    if !comparison.isPassed { exit(1) }
  }

  private static func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(64)
  }
}
