import Foundation
import FutureTree

/// A shell command, with a future of its output.
///
/// The future completes when the process has exited. A cancellation request sends SIGTERM and is answered with `.continue`: the
/// future ends `.cancelled` when the process exits. If a process ignores SIGTERM, `endByForce()` sends SIGKILL.
struct Subprocess: Sendable {
  let output: Future<String>
  /// Completes when the process has written its first line.
  let begun: Future<Void>

  private let process: Process
  private let input: FileHandle

  /// Runs a command. A command that starts other processes must wait for them: the output ends when all of them have closed it.
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

  /// Writes all input of the process. A process that has exited gets no input.
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

/// The error of a process that neither succeeded nor received a cancellation request.
struct ProcessFailed: Error {
  /// The exit code, or the number of the signal that ended the process.
  let status: Int32
}
