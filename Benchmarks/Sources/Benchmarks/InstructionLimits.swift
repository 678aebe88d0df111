import Foundation

/// The limits of instructions, which `Benchmarks/guard` counts in a program of its own: valgrind cannot read the debug information
/// of this one.
enum InstructionLimits {
  /// Prints a table, and returns whether all limits are reached. What cannot be counted here is skipped by name.
  static func areReached() throws -> Bool {
    let process = Process()
    process.executableURL = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../guard")
    process.arguments = ["--limits"]
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}
