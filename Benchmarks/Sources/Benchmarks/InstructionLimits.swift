import Foundation

/// The limits of instructions. `Benchmarks/guard` counts instructions in a separate program, because valgrind cannot read the
/// debug information of this one.
enum InstructionLimits {
  /// Prints a table. Returns whether all limits are reached. Prints which figures cannot be counted here.
  static func areReached() throws -> Bool {
    let process = Process()
    process.executableURL = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../guard")
    process.arguments = ["--limits"]
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}
