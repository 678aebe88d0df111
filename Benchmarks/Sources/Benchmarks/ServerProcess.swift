import ArgumentParser
import Foundation
import FutureTreeHTTPTesting

/// A server in its own process, so that its processor time is not counted for the client. It ends with this process.
final class ServerProcess: @unchecked Sendable {  // Because: immutable after `init`.
  /// The server, started when it is first needed.
  static let shared = ServerProcess()

  /// The origin of the server's URLs.
  private let origin: String
  private let process = Process()
  /// The input of the server, which ends when this process has ended.
  private let input = Pipe()

  private init() {
    setenv("no_proxy", "127.0.0.1", 1)  // `URLSession` on Linux asks the proxy of the environment for loopback as well.
    let output = Pipe()
    process.executableURL = Bundle.main.executableURL
    process.arguments = ["serve"]
    process.standardInput = input
    process.standardOutput = output
    do { try process.run() } catch { preconditionFailure("the server did not start: \(error)") }
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    origin = line.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Returns a URL of the server. The response of `/` has five bytes, that of `/large` 100,000.
  func url(_ path: String) -> String { origin + path }
}

struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Answers requests over loopback until its input ends.", shouldDisplay: false)

  func run() throws {
    let server = try LoopbackServer()
    server.on("/", .respond(body: "hello"))
    server.on("/large", .respond(body: String(repeating: "x", count: 100_000)))
    FileHandle.standardOutput.write(Data((server.url("") + "\n").utf8))
    while readLine() != nil {}
    server.stop()
  }
}
