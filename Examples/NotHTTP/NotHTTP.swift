// Promises for work that has nothing to do with HTTP: processes, jobs on threads, and a timer, in one tree.
//
//   swift run NotHTTP               ends by itself, within a second
//   swift run NotHTTP --wait        goes on for an hour: one control-C ends everything
//   swift run NotHTTP --stubborn    the same with a process that ignores the wish: a second control-C kills it
//
// What it shows:
//   - A process: `onRequestCancel` terminates it, and its promise is completed when it has exited.
//   - A queue of jobs before two threads: a job that waits leaves the queue and never begins, one that runs is told.
//   - A timer: its handler cancels it and completes at once.
//   - One branch is cancelled and the others go on; control-C cancels the root, and with it everything.
//
// What you should see: the tree; the backup, a process that would take an hour, ended by a signal while the others go on;
// a frame that leaves the queue; and then what became of each (the lines of `expected.txt`). After control-C each ends
// `.cancelled` in its own way, no process is left behind, and the exit code is 130.

import ExampleSupport
import Foundation
import FutureTree

@main struct NotHTTP {
  static func main() async throws {
    guard let mode = Mode(arguments: CommandLine.arguments.dropFirst()) else {
      print("usage: NotHTTP [--wait | --stubborn]")
      exit(64)
    }
    signal(SIGPIPE, SIG_IGN)  // A process may be ended before it has read its input.
    let work = try Work(mode)
    let controlC = ControlC { press in
      guard press == 1 else {
        title("Control-C again: by force")
        work.everything.cancel(.forceImmediately, reason: "control-C again")
        work.backup.endByForce()
        return
      }
      title("Control-C: everything is asked to end. A second one waits for nobody")
      say("receipt: \(work.everything.cancel(reason: "control-C"))")
    }
    _ = await controlC.isWatching.outcome
    let script = Future.task { try await play(work, mode) }
    _ = await work.everything.outcome
    script.cancel()
    _ = await script.outcome
    await work.end()  // Also after force nothing is left behind: no process and no thread.

    title("What became of each")
    report("backup", work.backup.output)
    report("words", work.words.output)
    for (index, frame) in work.frames.enumerated() { report("frame \(index + 1)", frame) }
    report("rest", work.rest)
    if controlC.wasPressed { exit(ControlC.exitCode) }
  }

  /// What happens if nobody presses control-C.
  private static func play(_ work: Work, _ mode: Mode) async throws {
    try await work.waitUntilBusy()
    title("Two processes, four frames for two threads, and a rest after the words")
    say("\(work.everything.tree())")

    title("The process that counts words gets some, and is done; the rest is a timer")
    work.words.send("one wish for many branches\n")
    say("words: \(try await work.words.output.value.filter(\.isNumber))")
    if mode != .brief {
      title("Press control-C")
      try await pause(for: .seconds(3_600)).value
    }

    title("One branch is cancelled while the others go on: its process is terminated")
    say("receipt: \(work.backup.output.cancel(reason: "the battery is low"))")
    _ = await work.backup.output.outcome
    report("backup", work.backup.output)

    title("A frame leaves the queue: it has not begun, and never does")
    say("receipt: \(work.frames[3].cancel(reason: "three are enough"))")
    report("frame 4", work.frames[3])
    work.lightUp()
  }
}

/// What the example does, by its argument.
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

func title(_ text: String) {
  say("\n\(text)\n\(String(repeating: "-", count: text.count))")
}

/// Writes a line at once, also where nobody sees it before a buffer is full.
func say(_ text: String) {
  FileHandle.standardOutput.write(Data((text + "\n").utf8))
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
