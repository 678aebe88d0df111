import Foundation
import HTTPTestSupport
import Testing

/// Shells of this machine, with a `curl` function that records its arguments and uses no network.
struct Shell: Sendable, CustomTestStringConvertible {
  let path: String

  static let all = ["/bin/sh", "/bin/dash", "/bin/bash", "/bin/zsh"]
    .filter { FileManager.default.isExecutableFile(atPath: $0) }.map { Shell(path: $0) }

  var testDescription: String { path }

  #if os(macOS) || os(Linux)
    /// The input of `curl`: its arguments, and its standard input.
    func run(_ command: String) throws -> (arguments: [String], input: Data) {
      let folder = try Folder()
      let output = folder.file("input")
      try Data().write(to: output)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: path)
      process.arguments = ["-c", #"curl() { printf '%s\0' "$@" >"$ARGUMENTS"; cat; }"# + "\n" + command]
      process.environment = ["PATH": "/bin:/usr/bin", "ARGUMENTS": folder.file("arguments").path, "LC_ALL": "C"]
      process.currentDirectoryURL = folder.url
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = try FileHandle(forWritingTo: output)
      let end = DispatchSemaphore(value: 0)
      process.terminationHandler = { _ in end.signal() }
      try process.run()
      guard end.wait(timeout: .now() + 300) == .success else {
        process.terminate()
        throw Oops(name: "\(path) does not end")
      }
      guard process.terminationStatus == 0 else { throw Oops(name: "\(path) failed: \(process.terminationStatus)") }
      // A command that the shell runs by itself, such as `touch x`, leaves a file.
      guard folder.names == ["arguments", "input"] else { throw Oops(name: "\(path) made \(folder.names)") }
      let arguments = try Data(contentsOf: folder.file("arguments")).split(
        separator: 0, omittingEmptySubsequences: false)
      return (arguments.dropLast().map { String(decoding: $0, as: UTF8.self) }, try Data(contentsOf: output))
    }
  #endif
}
