import Foundation

/// The limits of instructions. `Benchmarks/guard` counts instructions in a separate program, because valgrind cannot read the
/// debug information of this one.
enum InstructionLimits {
  /// Prints a table, and the figures that cannot be counted here. Returns whether all limits are met.
  static func areReached() throws -> Bool {
    let process = Process()
    process.executableURL = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../guard")
    process.arguments = ["--limits"]
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}
