import Baselines
import Foundation
import HeapCounter
import Works

/// The program that `Benchmarks/guard` runs. Its `main` is synchronous, because valgrind fails on an asynchronous one.
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
    case ("blocks", 1...):
      guard heapCounterCountsAll() else { return }
      for name in arguments.dropFirst() { print(name, "blocks", blocks(of: work(name))) }
    case ("compare", 3):
      try compare(with: arguments[1], measured: arguments[2])
    case ("limited", 2):
      for name in limited(arguments[1]) { print(name) }
    case ("limits", 2):
      try check(try figures(in: arguments[1]))
    default:
      fail(
        """
        usage: CountWorks names | operations WORK | run WORK REPETITIONS | blocks WORK... | compare BASELINE MEASURED
               | limited MEASURE | limits MEASURED
        """)
    }
  }

  private static func work(_ name: String) -> Work {
    guard let found = OurWorks.all.first(where: { $0.name == name }) else {
      fail("no work \"\(name)\"; there are: \(OurWorks.all.map(\.name).joined(separator: ", "))")
    }
    return found.work
  }

  /// Returns the heap blocks of one operation: the difference of two runs, so that one-time allocations cancel out.
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
    let comparison = Comparison(of: try figures(in: measured), with: try figures(in: baseline))
    print(comparison.report)
    if !comparison.isPassed { exit(1) }
  }

  /// Returns the works that have a limit for a measure, and their references, each once.
  private static func limited(_ measure: String) -> [String] {
    var names: [String] = []
    for limit in OurWorks.limits where limit.measure == measure {
      for name in [limit.work, limit.reference].compactMap(\.self) where !names.contains(name) { names.append(name) }
    }
    return names.filter { name in OurWorks.all.contains { $0.name == name } }
  }

  private static func check(_ figures: Figures) throws {
    print(Limit.head)
    for limit in OurWorks.limits { print(limit.row(for: figures)) }
    let verdicts = OurWorks.limits.map { $0.verdict(on: figures) }
    if verdicts.contains(.missed) || verdicts.contains(.unmeasured) { exit(1) }
  }

  private static func figures(in file: String) throws -> Figures {
    try Figures(reading: String(contentsOfFile: file, encoding: .utf8))
  }

  private static func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(64)
  }
}
