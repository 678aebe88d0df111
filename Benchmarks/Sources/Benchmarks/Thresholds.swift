import Measuring

extension Row {
  /// The minimum and the goal of the row, for `--check`. A missed time is only printed. A missed count is a failure.
  var threshold: Threshold? { Row.thresholds["\(name) / \(peer)"] }

  /// The names of thresholds without a row, for example after a row was renamed.
  static var thresholdsWithoutRow: [String] {
    let names = Set(all.map { "\($0.name) / \($0.peer)" })
    return thresholds.keys.filter { !names.contains($0) }.sorted()
  }

  private static let thresholds: [String: Threshold] = [
    "promise, observe, complete / `EventLoopFuture`": Threshold(atLeast: 1.9, goal: 2.3),
    "promise that escapes, observe, complete / `EventLoopFuture`": Threshold(atLeast: 1.6, goal: 2),
    "chain of 10 `map` / `EventLoopFuture`": Threshold(atLeast: 2.4, goal: 3),
    "chain of 1,000 `map` / `EventLoopFuture`": Threshold(atLeast: 2.8, goal: 3.3),
    "chain of 1,000 `map` that capture / `EventLoopFuture`": Threshold(atLeast: 2, goal: 2.5),
    "chain of 1,000 `flatMap` / `EventLoopFuture`": Threshold(atLeast: 3, goal: 4),
    "1 future with 1,000 `map` children / `EventLoopFuture`": Threshold(atLeast: 3.5, goal: 4.3),
    "`all` of 1,000, promises included / `whenAllSucceed`": Threshold(atLeast: 2.6, goal: 3.6),
    "join and leave a future with 1,000 others / the same with 10": Threshold(atLeast: 1.5, goal: 1.1),
    "join and leave a future with 1,000,000 others / the same with 10": Threshold(atLeast: 1.5, goal: 1.1),
    "chain of 1,000 awaited / 1,000 `Task` on the pool": Threshold(atLeast: 12, goal: 20),
    "chain of 1,000 awaited / 1,000 `Task` on one actor": Threshold(atLeast: 5, goal: 9),
    "`try await future.value`, pending / a bare continuation": Threshold(atLeast: 1.08, goal: 1.06),
    "cancel a tree of 1,000 leaves / a task group of 1,000": Threshold(atLeast: 18, goal: 25),
    "cancel an `all` of 1,000 promises / a task group of 1,000": Threshold(atLeast: 2, goal: 5),
    "cancel an `all` of 1,000 `map` of one source / a task group of 1,000": Threshold(atLeast: 8, goal: 18),
    "cancel a chain of 1,000 from its tail / completing it": Threshold(atLeast: 2, goal: 1.5),
    "cancel a chain of 1,000 from its tail / completing one of `EventLoopFuture`": Threshold(atLeast: 0.8, goal: 0.8),
    "token source made, handler registered, cancelled / a `Task` on the pool": Threshold(atLeast: 5, goal: 10),
    "2 threads on trees of their own / 1 thread, as a spin loop gains": Threshold(atLeast: 1.8, goal: 1.95),
    "a load through ten layers / a bare `dataTask`, processor time": Threshold(atLeast: 0.1, goal: 0.1),
    "`URLSessionLoader` / a bare `dataTask`": Threshold(atLeast: 0.95, goal: 1),
    "`URLSessionLoader`, 100 KB / a bare `dataTask`": Threshold(atLeast: 0.9, goal: 1),
    "heap blocks of a pending `map` / `EventLoopFuture`": Threshold(atLeast: 1, goal: 1, isOfOurs: true),
    "heap blocks of a pending `map` that captures / `EventLoopFuture`": Threshold(atLeast: 2, goal: 2, isOfOurs: true),
    "heap bytes of a pending `map` / `EventLoopFuture`": Threshold(atLeast: 144, goal: 128, isOfOurs: true),
  ]
}
