import Foundation
import NIOCore
import NIOPosix

/// Measures the requests per second of transports against one server on loopback, and prints a table of ratios:
///
///     swift run -c release Throughput
///     swift run -c release Throughput --rounds 21 --requests 5000
///     swift run -c release Throughput --only loader
///     .ci/servers --run 'swift run -c release Throughput --url {plain} --size 5'    # nginx serves the file `5`
///
/// Each round measures every transport once, in turn, with new connections, and each ratio is that of two figures of one round.
/// The figures of a table are medians. The transports share event loops, one for each processor, as is the default of both
/// libraries. The server has one of its own in the same process, unless a URL is given: then the processor time is that of the client
/// alone. It runs on the same processors.
@main enum Throughput {
  static func main() throws {
    var options = Options()
    try options.read(CommandLine.arguments.dropFirst())
    let loops = options.loops ?? System.coreCount
    let group = MultiThreadedEventLoopGroup(numberOfThreads: loops)
    let url: (Int) -> String
    if let folder = options.url { url = { "\(folder)/\($0)" } } else { url = try BenchmarkServer().url(ofSize:) }
    for size in options.size.map({ [$0] }) ?? [100, 100_000] {
      let contenders = Contenders(group: group, url: url(size)).all.filter {
        options.only.isEmpty || $0.name.contains(options.only)
      }
      let requests = size > 1000 ? options.requests / 4 : options.requests
      let rounds = options.rounds(of: contenders, requests: requests, size: size)
      print(
        "\n\(size) bytes, \(options.concurrency) requests at a time, \(loops) event loops, \(rounds.count) rounds\n")
      print(Table(contenders.map(\.name), rounds))
    }
  }
}

/// The options of the command line.
struct Options {
  var rounds = 11
  var requests = 4000
  var concurrency = 32
  var only = ""
  /// The folder of a server, with files whose names are sizes.
  var url: String?
  var size: Int?
  var loops: Int?

  mutating func read(_ arguments: some Collection<String>) throws {
    var rest = arguments[...]
    while let name = rest.popFirst() {
      let text = rest.popFirst() ?? ""
      if name == "--only" {
        only = text
        continue
      }
      if name == "--url" {
        url = text
        continue
      }
      guard let value = Int(text), value > 0 else { throw Misuse(argument: name) }
      switch name {
      case "--rounds": rounds = value
      case "--requests": requests = value
      case "--size": size = value
      case "--concurrency": concurrency = value
      case "--loops": loops = value
      default: throw Misuse(argument: name)
      }
    }
  }

  /// - Returns: The figures of each contender, for each round.
  func rounds(of contenders: [Contender], requests: Int, size: Int) -> [[Figures]] {
    (0..<rounds).map { _ in contenders.map { $0.measure(requests, concurrency, size: size) } }
  }
}

struct Misuse: Error, CustomStringConvertible {
  let argument: String
  var description: String {
    "\(argument) is not an option with a value: --rounds, --requests, --concurrency, --size, --loops, --only, --url."
  }
}

/// The medians of all rounds. All contenders are compared with the first.
struct Table: CustomStringConvertible {
  let names: [String]
  let rounds: [[Figures]]

  init(_ names: [String], _ rounds: [[Figures]]) {
    self.names = names
    self.rounds = rounds
  }

  var description: String {
    let rows = names.indices.map { index in
      let ratios = rounds.map { $0[index].rate / $0[0].rate }.sorted()
      let cells = [
        names[index],
        "\(Int(Self.median(rounds.map { $0[index].rate })))",
        Self.percent(Self.median(ratios)),
        "\(Self.percent(ratios[ratios.count / 4])) to \(Self.percent(ratios[ratios.count * 3 / 4]))",
        "\(Int(Self.median(rounds.map { $0[index].processorTime * 1e6 }))) µs",
        Self.percent(Self.median(rounds.map { $0[0].processorTime / $0[index].processorTime })),
      ]
      return "| \(cells.joined(separator: " | ")) |"
    }
    let header = [
      "transport", "requests a second", "of the first", "quartiles", "processor time", "of the first, inverse",
    ]
    return (["| \(header.joined(separator: " | ")) |", "| --- | ---: | ---: | --- | ---: | ---: |"] + rows)
      .joined(separator: "\n")
  }

  private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

  private static func percent(_ ratio: Double) -> String { "\(Int((ratio * 100).rounded())) %" }
}
