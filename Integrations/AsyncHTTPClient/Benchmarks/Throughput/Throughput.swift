import AsyncHTTPClient
import Foundation
import FutureTree
import FutureTreeAsyncHTTPClient
import FutureTreeHTTP
import NIOPosix

/// Measures the requests per second of transports against one server on loopback, and prints a table of ratios:
///
///     swift run -c release Throughput
///     swift run -c release Throughput --rounds 21 --requests 5000
///
/// Each round measures every transport once, in turn, and each ratio is that of two figures of one round. The figures of a table
/// are medians. The server and the transports share the processors.
@main enum Throughput {
  static func main() throws {
    var options = Options()
    try options.read(CommandLine.arguments.dropFirst())
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let server = try BenchmarkServer()
    for size in [100, 100_000] {
      let contenders = Contender.all(on: group, url: server.url(ofSize: size))
      let rounds = options.rounds(of: contenders, requests: size > 1000 ? options.requests / 4 : options.requests)
      print("\n\(size) bytes, \(options.concurrency) requests at a time, \(rounds.count) rounds\n")
      print(Table(contenders.map(\.name), rounds))
    }
  }
}

/// The options of the command line.
struct Options {
  var rounds = 11
  var requests = 4000
  var concurrency = 32

  mutating func read(_ arguments: some Collection<String>) throws {
    var rest = arguments[...]
    while let name = rest.popFirst() {
      guard let value = rest.popFirst().flatMap({ Int($0) }), value > 0 else { throw Misuse(argument: name) }
      switch name {
      case "--rounds": rounds = value
      case "--requests": requests = value
      case "--concurrency": concurrency = value
      default: throw Misuse(argument: name)
      }
    }
  }

  /// - Returns: The requests per second of each contender, for each round.
  func rounds(of contenders: [Contender], requests: Int) -> [[Double]] {
    for contender in contenders { _ = contender.measure(requests / 4, concurrency) }  // A warm-up.
    return (0..<rounds).map { _ in contenders.map { $0.measure(requests, concurrency) } }
  }
}

struct Misuse: Error, CustomStringConvertible {
  let argument: String
  var description: String { "\(argument) is not an option with a number: --rounds, --requests, --concurrency." }
}

/// The medians of all rounds. The first contender is the one that the others are compared with.
struct Table: CustomStringConvertible {
  let names: [String]
  let rounds: [[Double]]

  init(_ names: [String], _ rounds: [[Double]]) {
    self.names = names
    self.rounds = rounds
  }

  var description: String {
    let rows = names.indices.map { index in
      let rate = Self.median(rounds.map { $0[index] })
      let ratios = rounds.map { $0[index] / $0[0] }.sorted()
      let spread = "\(Self.percent(ratios[ratios.count / 4])) to \(Self.percent(ratios[ratios.count * 3 / 4]))"
      return "| \(names[index]) | \(Int(rate)) | \(Self.percent(Self.median(ratios))) | \(spread) |"
    }
    return (["| transport | requests a second | of the first | quartiles |", "| --- | ---: | ---: | --- |"] + rows)
      .joined(separator: "\n")
  }

  private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

  private static func percent(_ ratio: Double) -> String { "\(Int((ratio * 100).rounded())) %" }
}
