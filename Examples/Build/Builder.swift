import FutureTree

/// Builds a graph. Each step is one future, however many others need it.
final class Builder: Sendable {
  private let graph: Graph
  /// The steps that run and that wait, four at once.
  let queue: FutureQueue
  private let outcomes: [String: Future<String>]

  init(_ graph: Graph, clock: any FutureClock) {
    let queue = FutureQueue(atMost: 4, clock: clock)
    var outcomes: [String: Future<String>] = [:]
    // The graph names inputs before the steps that need them.
    for name in graph.names {
      guard let step = graph.steps[name] else { continue }
      let inputs = step.inputs.compactMap { outcomes[$0] }
      outcomes[name] = Future.all(inputs)
        .flatMap { _ in
          queue.add(priority: step.priority) { Builder.run(step, clock) }.named("\(step.name), in the queue")
        }
        .named("\(step.name)")
    }
    (self.graph, self.queue, self.outcomes) = (graph, queue, outcomes)
  }

  /// Returns the future of all steps with this ending.
  func target(_ ending: String) -> Future<[String]> {
    Future.all(graph.names.filter { $0.hasSuffix(ending) }.compactMap { outcomes[$0] }).named("all \(ending)")
  }

  /// A future that completes when all steps have completed.
  var everything: Future<Void> { Future.allSettled(Array(outcomes.values)).map { _ in } }

  /// The number of steps with each ending, such as `12 succeeded, 188 pending`.
  var summary: String {
    let endings = outcomes.values.map { $0.outcomeIfCompleted.map { "\($0.ending)" } ?? "pending" }
    let counts = Dictionary(grouping: endings) { $0 }.mapValues(\.count)
    return ["succeeded", "failed", "cancelled", "pending"].compactMap { name in counts[name].map { "\($0) \(name)" } }
      .joined(separator: ", ")
  }

  /// A process of a compiler, which ends when it is asked to.
  private static func run(_ step: Step, _ clock: any FutureClock) -> Future<String> {
    let promise = Promise<String>()
    let timer = clock.schedule(after: step.duration) { promise.succeed(step.name) }
    promise.onRequestCancel { _ in
      timer.cancel()
      return .complete(.cancelled)
    }
    return promise.future
  }
}
