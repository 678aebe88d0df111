import Foundation
import FutureTree

/// A command of the shell as a future of what it wrote, once it has exited.
///
/// A request to cancel terminates it (SIGTERM) and is answered with `.continue`: it is the exit that confirms, and then the
/// future ends `.cancelled`. A process may ignore that signal; `endByForce()` (SIGKILL) is for those.
struct Subprocess: Sendable {
  let output: Future<String>
  /// Completes when the process has written its first line.
  let begun: Future<Void>

  private let process: Process
  private let input: FileHandle

  /// Runs a command. One that starts others must wait for them: the output ends when all have closed it.
  init(_ command: String) throws {
    let (process, input, pipe) = (Process(), Pipe(), Pipe())
    let (promise, begun) = (Promise<String>(), Promise<Void>())
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", command]
    process.standardInput = input
    process.standardOutput = pipe
    let exited = Promise<Void>()
    process.terminationHandler = { _ in exited.succeed() }
    try process.run()
    let text = Future(on: .global()) {
      let first = pipe.fileHandleForReading.availableData
      begun.succeed()
      return String(decoding: first + pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
    Future.zip(text, exited.future).observe { outcome in
      promise.complete(Self.completion(of: process, asked: promise.cancelRequest, wrote: outcome))
    }
    promise.onRequestCancel { _ in
      if process.isRunning { process.terminate() }
      return .continue
    }
    (output, self.begun, self.process, self.input) =
      (promise.future, begun.future, process, input.fileHandleForWriting)
  }

  /// Gives the process all of its input; one that has ended gets none.
  func send(_ text: String) {
    try? input.write(contentsOf: Data(text.utf8))
    try? input.close()
  }

  func endByForce() {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }

  private static func completion(
    of process: Process, asked: CancelRequest?, wrote: Outcome<(String, Void)>
  ) -> Completion<String> {
    guard case .success((let text, _)) = wrote else { return .failure(ProcessFailed(status: -1)) }
    switch (process.terminationReason, asked) {
    case (.exit, _) where process.terminationStatus == 0: return .success(text)
    case (.uncaughtSignal, let request?): return .cancelled(request.reason)
    default: return .failure(ProcessFailed(status: process.terminationStatus))
    }
  }
}

/// The error of a process that ended otherwise than by a success, or a request to cancel.
struct ProcessFailed: Error {
  /// The exit code, or the number of the signal that ended it.
  let status: Int32
}
