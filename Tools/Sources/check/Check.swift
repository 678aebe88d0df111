// The gates of the project that no other tool has. `.ci/steps` calls them from the root of the repository.
//
//   swift run --package-path Tools check layers
//   swift run --package-path Tools check prose [FILE…]
//   swift run --package-path Tools check closures FOLDER…
//   swift run --package-path Tools check documented FOLDER…
//   swift run --package-path Tools check examples MODULES SCRATCH
//
// A FOLDER has the output of `swift symbolgraph-extract` for one module. MODULES has the built modules, and SCRATCH receives the
// generated code. The command exits with 1 if a gate has a finding, and with 64 if its arguments are wrong.

import Checks
import Foundation

@main
struct Check {
  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst(2))
    do {
      let passes: Bool
      switch (CommandLine.arguments.dropFirst().first, arguments.count) {
      case ("layers", 0): passes = try layers()
      case ("prose", _): passes = try prose(arguments)
      case ("closures", 1...): passes = try closures(arguments)
      case ("documented", 1...): passes = try documented(arguments)
      case ("examples", 2): passes = try examples(modules: arguments[0], scratch: arguments[1])
      default:
        report("usage: check layers | prose [FILE…] | closures FOLDER… | documented FOLDER… | examples MODULES SCRATCH")
        exit(64)
      }
      exit(passes ? 0 : 1)
    } catch {
      report("\(error)")
      exit(1)
    }
  }

  static func layers() throws -> Bool {
    let all = try Layers.Module.all.map { Layers($0, try sources(in: "Sources/\($0.name)")) }
    for layers in all { print(layers.table) }
    return list(all.flatMap(\.faults))
  }

  static func prose(_ named: [String]) throws -> Bool {
    let files = try named.isEmpty ? committedFiles(["*.md"] + codeFolders.map { $0 + "/**.swift" }) : named
    let prose = try Prose()
    let results = try files.map { prose.check(try String(contentsOfFile: $0, encoding: .utf8), path: $0) }
    let (findings, count) = (results.flatMap(\.findings), results.map(\.passageCount).reduce(0, +))
    _ = list(findings)
    print("\(files.count) files, \(count) passages, \(findings.count) findings")
    return count > 0 && findings.isEmpty
  }

  static let codeFolders = ["Sources", "Examples", "Tests", "Integrations", "Benchmarks", "Tools/Sources"]

  static func closures(_ folders: [String]) throws -> Bool {
    let (count, doubles) = SymbolGraph.closures(in: try folders.map { try SymbolGraph(at: $0) })
    print("\(count) public functions take a closure, \(doubles.count) have another that differs only in it")
    return list(doubles) && count > 0
  }

  static func documented(_ folders: [String]) throws -> Bool {
    let graphs = try folders.map { try SymbolGraph(at: $0) }
    return graphs.map { graph in
      let (count, undocumented) = (graph.documentableCount, graph.undocumented)
      print("\(graph.module): \(count) public symbols, \(undocumented.count) without a doc comment")
      return list(undocumented) && count > 0  // A folder without symbols is an error of the caller.
    }.allSatisfy { $0 }
  }

  static func examples(modules: String, scratch: String) throws -> Bool {
    try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
    let all = try FileManager.default.contentsOfDirectory(atPath: "Sources").sorted()
    // A module of C has headers, which the modules of Swift import.
    let headers = all.map { "Sources/\($0)/include" }.filter(FileManager.default.fileExists)
    let imports = ([modules] + headers).flatMap { ["-I", $0] }
    return try all.filter { !headers.contains("Sources/\($0)/include") }.map { module in
      let fixtures = ".ci/fixtures/\(module).swift"
      let declarations = try String(contentsOfFile: fixtures, encoding: .utf8)
      let examples = try Examples(sources(in: "Sources/\(module)"), fixtures: declarations, at: fixtures)
      let file = "\(scratch)/\(module).swift"
      try examples.code.write(toFile: file, atomically: true, encoding: .utf8)
      let options = ["-typecheck", "-module-name", "Examples", "-swift-version", "6", "-suppress-warnings"]
      let compiles = try run("swiftc", options + imports + [file]).isFine
      print("\(module): \(examples.count) examples in doc comments" + (compiles ? "" : ", not all of which compile"))
      return compiles && examples.count > 0
    }.allSatisfy { $0 }
  }

  // MARK: - Files and commands

  /// Returns the text of each Swift file in a folder, by its path.
  static func sources(in folder: String) throws -> [String: String] {
    let paths = try FileManager.default.subpathsOfDirectory(atPath: folder).map { "\(folder)/\($0)" }
    return Dictionary(
      uniqueKeysWithValues: try paths.filter { $0.hasSuffix(".swift") }
        .map { ($0, try String(contentsOfFile: $0, encoding: .utf8)) })
  }

  static func committedFiles(_ patterns: [String]) throws -> [String] {
    let (isFine, output) = try run("git", ["ls-files"] + patterns)
    guard isFine else { throw Failure("git cannot list the files of the repository.") }
    return output.split(separator: "\n").map(String.init)
  }

  /// Runs a program and returns its output. Its errors are printed.
  static func run(_ program: String, _ arguments: [String]) throws -> (isFine: Bool, output: String) {
    let (process, pipe) = (Process(), Pipe())
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [program] + arguments
    process.standardOutput = pipe
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus == 0, String(decoding: output, as: UTF8.self))
  }

  /// Prints findings. Returns whether there are none.
  static func list(_ findings: [String]) -> Bool {
    for finding in findings { print(finding) }
    return findings.isEmpty
  }

  static func report(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
  }
}
