// Promises for work other than HTTP: processes, jobs on threads, and a timer, in one tree.
//
//   swift run NotHTTP               ends by itself, within a second
//   swift run NotHTTP --wait        runs for an hour; one control-C ends all of it
//   swift run NotHTTP --stubborn    the same with a process that ignores cancellation; a second control-C kills it
//
// The example shows:
//   - A process: `onRequestCancel` terminates the process. The promise is completed when the process has exited.
//   - A job queue for two threads: a waiting job leaves the queue and never begins. A running job receives the request.
//   - A timer: its handler cancels the timer and completes the promise at once.
//   - The cancellation of one branch while the others continue. Control-C cancels the root, and with it all branches.
//
// Expected output (`expected.txt`): the tree; the backup, a process of an hour that a signal ends while other work continues;
// a frame that leaves the queue; and the outcome of each branch. After control-C, each branch ends `.cancelled` in its own way.
// No process is left behind, and the exit code is 130.

import ExampleSupport
import Foundation
import FutureTree

@main struct NotHTTP {
  static func main() async throws {
    guard let mode = Mode(arguments: CommandLine.arguments.dropFirst()) else {
      print("usage: NotHTTP [--wait | --stubborn]")
      exit(64)
    }
    signal(SIGPIPE, SIG_IGN)  // A process may exit before it reads its input.
    let work = try Work(mode)
    let signals = ProcessSignals()
    signals.token.register { reason in
      title("Control-C: all work receives a cancellation request. Press it again to force the end")
      say("receipt: \(work.everything.cancel(reason: reason))")
    }
    signals.forceToken.register { reason in
      title("Control-C again: forced cancellation")
      work.everything.cancel(.forceImmediately, reason: reason)
      work.backup.endByForce()
    }
    let script = Future.task { try await play(work, mode) }
    // An observer is not a consumer: the printed tree does not depend on the moment at which this line runs.
    work.everything.observe { _ in script.cancel() }
    _ = await script.outcome
    await work.end()  // No process and no thread is left behind, also after force.

    title("Outcomes")
    report("backup", work.backup.output)
    report("words", work.words.output)
    for (index, frame) in work.frames.enumerated() { report("frame \(index + 1)", frame) }
    report("rest", work.rest)
    if let code = signals.exitCode { exit(code) }
  }

  /// Runs the steps of the example when nobody presses control-C.
  private static func play(_ work: Work, _ mode: Mode) async throws {
    try await work.waitUntilBusy()
    title("Two processes, four frames on two threads, and a timer after the word count")
    say("\(work.everything.tree())")

    title("The word count completes, and its timer starts")
    work.words.send("one request for many branches\n")
    say("words: \(try await work.words.output.value.filter(\.isNumber))")
    if mode != .brief {
      title("Press control-C")
      try await pause(for: .seconds(3_600)).value
    }

    title("One branch is cancelled, which terminates its process. The others continue")
    say("receipt: \(work.backup.output.cancel(reason: "the battery is low"))")
    _ = await work.backup.output.outcome
    report("backup", work.backup.output)

    title("A queued frame is cancelled, and never begins")
    say("receipt: \(work.frames[3].cancel(reason: "three are enough"))")
    report("frame 4", work.frames[3])
    work.lightUp()
  }
}

/// The mode of the example, chosen by its argument.
enum Mode: String {
  case brief
  case wait = "--wait"
  case stubborn = "--stubborn"

  init?(arguments: some Collection<String>) {
    guard let argument = arguments.first else {
      self = .brief
      return
    }
    guard arguments.count == 1, argument != "brief" else { return nil }
    self.init(rawValue: argument)
  }
}

func report(_ name: String, _ future: Future<String>) {
  let text =
    switch future.outcomeIfCompleted {
    case .success(let text): "succeeded: \(text.trimmingCharacters(in: .whitespacesAndNewlines))"
    case .failure(let error): "failed: \(error)"
    case .cancelled(let reason): "cancelled: \(reason.message)"
    case nil: "pending"
    }
  say(name + String(repeating: " ", count: 8 - name.count) + text)
}
