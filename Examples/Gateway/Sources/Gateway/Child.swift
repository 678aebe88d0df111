import Foundation

/// A process of this program that runs one service.
final class Child {
  let service: Service
  let port: Int
  private let process = Process()
  private let input = Pipe()
  private let output: UnsafeMutablePointer<FILE>

  /// Starts the process, and waits until it listens.
  init(_ service: Service, asking ports: [Int]) throws {
    self.service = service
    let pipe = Pipe()
    process.executableURL = Bundle.main.executableURL
    process.arguments = [service.rawValue] + ports.map { "\($0)" }
    process.standardInput = input
    process.standardOutput = pipe
    try process.run()
    output = fdopen(dup(pipe.fileHandleForReading.fileDescriptor), "r")
    guard let port = Child.line(from: output).flatMap({ Int($0) }) else { throw NoAnswer(service: service) }
    self.port = port
  }

  /// Sends a command, and returns the lines of the answer.
  func ask(_ command: String) throws -> [String] {
    input.fileHandleForWriting.write(Data((command + "\n").utf8))
    var lines: [String] = []
    while let line = Child.line(from: output) {
      if line.isEmpty { return lines }
      lines.append(line)
    }
    throw NoAnswer(service: service)
  }

  /// Ends the input of the process, and waits for its end. Returns its status.
  func end() -> Int32 {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
    return process.terminationStatus
  }

  func kill() { process.terminate() }

  private static func line(from file: UnsafeMutablePointer<FILE>) -> String? {
    var bytes: UnsafeMutablePointer<CChar>?
    var capacity = 0
    defer { free(bytes) }
    guard getline(&bytes, &capacity, file) > 0, let bytes else { return nil }
    return String(cString: bytes).trimmingCharacters(in: .newlines)
  }
}

struct NoAnswer: Error, CustomStringConvertible {
  let service: Service

  var description: String { "The process of the service \(service) ended without an answer. Run it alone to see why." }
}
