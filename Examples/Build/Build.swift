// A build of 200 steps that need each other: four at once, by priority.
//
//   swift run Build                   ends by itself, with a clock of its own
//   swift run Build -o page.html      the same, and writes a page of the tree after five seconds
//   swift run Build --wait            builds in real time; control-C asks the build to end, and forces it after a time
//
// The example shows:
//   - A graph: each step is one future, and waits for its inputs with `all`. Several steps share an input.
//   - `FutureQueue(atMost: 4)`: libraries overtake files, files overtake tests, and `waiting` shows what is next.
//   - The cancellation of one branch: steps that only the tests need leave the queue, and the program is built.
//   - A deadline of the scope: what is not built by then is cancelled, for a reason that a program can compare.
//
// Expected output (`expected.txt`): the state of the build over time.

import ExampleSupport
import Foundation
import FutureTree
import FutureTreePictures
import FutureTreeTesting

@main struct Build {
  static func main() async {
    switch Array(CommandLine.arguments.dropFirst()) {
    case []: play(pageAt: nil)
    case ["--wait"]: await wait()
    case let arguments where arguments.count == 2 && arguments[0] == "-o": play(pageAt: arguments[1])
    default:
      print("usage: Build [-o page.html | --wait]")
      exit(64)
    }
  }

  /// Builds with a clock that the example advances, so the output is the same in each run.
  private static func play(pageAt path: String?) {
    let clock = ManualClock()
    let builder = Builder(Graph(), clock: clock)
    let scope = CancelScope("build", deadline: .after(.seconds(15), clock: clock), clock: clock)
    let (program, tests) = (builder.target("library"), builder.target("test"))
    scope.add(program)
    scope.add(tests)

    title("The first steps")
    say("\(builder.queue.runningCount) run, \(builder.queue.waitingCount) wait")
    say("next: \(builder.queue.waiting.prefix(3).map(\.name).joined(separator: "; "))")

    title("After five seconds")
    clock.advance(by: .seconds(5))
    say(builder.summary)
    say("next: \(builder.queue.waiting.prefix(3).map(\.name).joined(separator: "; "))")
    if let path { write(program.tree().html(title: "A build after five seconds"), to: path) }

    title("The tests are cancelled. What the program needs goes on")
    say("receipt: \(tests.cancel(.doNotForwardIfOthersWaiting, reason: "tests run elsewhere"))")
    say(builder.summary)

    title("The deadline of the build passes")
    clock.advance(by: .seconds(10))
    say(builder.summary)
    if case .cancelled(let reason) = program.outcomeIfCompleted, reason.kind == .deadline {
      say("the program is not built in time: \(reason.message)")
    }
    say("\(builder.queue.runningCount) run, \(builder.queue.waitingCount) wait")
  }

  /// Builds in real time until it is built or control-C ends it.
  private static func wait() async {
    let builder = Builder(Graph(), clock: .system)
    let everything = builder.everything
    let signals = ProcessSignals()
    everything.cancel(when: signals, grace: .seconds(2))
    signals.token.register { _ in
      title("Control-C: the build has two seconds to end. Press it again to force the end")
    }
    title("Press control-C")
    say("the build: \(await everything.outcome.ending)")
    if let code = signals.exitCode { exit(code) }
  }

  private static func write(_ page: String, to path: String) {
    do {
      try page.write(toFile: path, atomically: true, encoding: .utf8)
    } catch {
      print("\(path) cannot be written. \(error.localizedDescription) Pass the path of a file.")
      exit(73)
    }
  }
}
