import FutureTree

/// The work of the example: two processes, four jobs on two threads, and a timer.
final class Work: Sendable {
  let backup: Subprocess
  let words: Subprocess
  let frames: [Future<String>]
  let rest: Future<String>
  /// The root of the tree. It ends when all other futures have ended.
  let everything: Future<[Outcome<String>]>

  private let pool = WorkerPool(threads: 2)
  private let light = Promise<Void>()
  private let busy: [Promise<Void>]

  init(_ mode: Mode) throws {
    backup = try Subprocess("\(mode == .stubborn ? "trap '' TERM; " : "")echo begun; exec sleep 3600")
    words = try Subprocess("wc -w")
    let busy = (1...4).map { _ in Promise<Void>() }
    frames = (1...4).map { [pool, light] number in
      pool.run { stop in
        busy[number - 1].succeed()
        // A job may block its thread: it waits for the light, unless its token is cancelled.
        let lit = light.future.shielded()
        lit.cancel(when: stop)
        try lit.wait(for: .seconds(3_600))?.get()
        return "\(try render(number, until: stop)) bright pixels"
      }.named("frame \(number)")
    }
    let rests: Duration = mode == .brief ? .milliseconds(100) : .seconds(3_600)
    rest = words.output.named("words").onSuccess { text -> Future<String> in
      pause(for: rests).named("timer").map { "after \(text.filter(\.isNumber)) words" }
    }.named("rest")
    everything = Future.allSettled([backup.output.named("backup")] + frames + [rest]).named("everything")
    self.busy = busy
  }

  /// Waits until the backup has begun and both threads are busy.
  func waitUntilBusy() async throws {
    try await backup.begun.value
    for promise in busy.prefix(2) { try await promise.future.value }
  }

  func lightUp() { light.succeed() }

  /// Waits for each future separately, because force ends the root before the futures that it depends on.
  func end() async {
    for future in [backup.output, words.output, rest] + frames { _ = await future.outcome }
    pool.close()
  }
}

/// Counts pixels row by row, and checks between rows whether the job received a cancellation request.
private func render(_ number: Int, until stop: CancellationToken) throws -> Int {
  var count = 0
  for row in 0..<200 {
    if let reason = stop.reason { throw FutureCancelled(reason: reason) }
    for column in 0..<200 where (row * column + number) % 7 == 0 { count += 1 }
  }
  return count
}
