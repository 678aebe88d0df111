@testable import FutureTree

/// The first difference between model and library.
struct ModelDifference: CustomStringConvertible {
  /// The number of operations performed, the last included.
  let step: Int
  let description: String
}

/// Runs a program on the model and on the library, and compares them after every step.
struct ModelRun {
  private var model = ContractModel()
  private let library: LibraryRunner
  private var events = 0
  /// Whether the outcome of each future was compared.
  private var compared: [Bool] = []

  private init(library: LibraryRunner) {
    self.library = library
  }

  /// - Parameter log: A log of the futures of the library. It must not change the result.
  static func difference(
    in program: [ModelOperation], mistake: ContractModel.Mistake? = nil, log: FutureLog? = nil, tally: inout LawTally
  ) -> ModelDifference? {
    var run = ModelRun(library: LibraryRunner(log: log))
    run.model.mistake = mistake
    swap(&run.model.tally, &tally)
    defer { swap(&run.model.tally, &tally) }
    var difference: ModelDifference?
    for (index, operation) in program.enumerated() where difference == nil {
      if let text = run.step(operation) { difference = run.difference(after: index + 1, text) }
    }
    if let text = run.close(), difference == nil { return run.difference(after: program.count + 1, text) }
    return difference
  }

  private func difference(after step: Int, _ text: String) -> ModelDifference {
    ModelDifference(step: step, description: text)
  }

  /// Completes all work in flight. Then no future may be pending, and nothing refers to the runner of the library.
  private mutating func close() -> String? {
    var difference: String?
    for index in model.scopes.indices { difference = step(.endScope(index)) ?? difference }
    for index in model.nodes.indices where model.nodes[index].operation == .promise && !model.nodes[index].isHidden {
      difference = step(.drop(promise: index)) ?? difference
    }
    while !model.jobs.isEmpty || model.timerCount > 0 {
      difference = step(model.jobs.isEmpty ? .advance : .runJob(0)) ?? difference
    }
    let pending = library.futures.firstIndex { $0.modelOutcome == nil }
    library.close()
    return difference ?? pending.map { "future \($0) hangs" }
  }

  private mutating func step(_ operation: ModelOperation) -> String? {
    let expected = model.apply(operation)
    let result = library.apply(operation)
    if result != expected { return "result: \(result), expected \(expected)" }
    let log = library.events
    if log.count != model.events.count || log[events...] != model.events[events...] {
      return "events: \(log[events...].map(\.text)), expected \(model.events[events...].map(\.text))"
    }
    events = log.count
    while compared.count < model.nodes.count { compared.append(false) }
    var differences: [String] = []
    if library.clock.timerCount != model.timerCount {
      differences.append("\(library.clock.timerCount) timers, expected \(model.timerCount)")
    }
    for (index, report) in library.reports.enumerated() {
      let (report, expected) = (
        (try? report.outcomeIfCompleted?.get()).map(ModelGraceReport.init), model.graces[index].report
      )
      if report != expected { differences.append("grace \(index): \(text(report)), expected \(text(expected))") }
    }
    for index in model.nodes.indices where !model.nodes[index].isHidden && !model.nodes[index].operation.isHidden {
      if let text = compare(index) { differences.append("future \(index): \(text)") }
    }
    return differences.isEmpty ? nil : differences.joined(separator: "; ")
  }

  private mutating func compare(_ index: Int) -> String? {
    let expected = model.nodes[index]
    let node = library.futures[index].node
    let state = node.lock.withLock { node.state }
    guard (state.ending != nil) == (expected.outcome != nil) else {
      let outcome = library.futures[index].modelOutcome
      return "\(text(outcome)), expected \(text(expected.outcome))"
    }
    if let asked = state.requests.asked.map({ ModelRequest($0) }), asked != expected.asked {
      return "asked \(asked.text), expected \(expected.asked?.text ?? "nothing")"
    } else if expected.asked != nil, state.requests.asked == nil {
      return "asked nothing, expected \(expected.asked!.text)"
    }
    if expected.outcome != nil {
      guard !compared[index] else { return nil }
      compared[index] = true
      let outcome = library.futures[index].modelOutcome
      return outcome == expected.outcome ? nil : "\(text(outcome)), expected \(text(expected.outcome))"
    }
    let (timers, expectedTimers) = (library.lingerTimers(of: index), expected.linger == .isScheduled ? 1 : 0)
    if timers != expectedTimers { return "\(timers) timers of its linger, expected \(expectedTimers)" }
    let consumers = Int(state.consumers)
    return consumers == expected.interest ? nil : "\(consumers) consumers, expected \(expected.interest)"
  }

  private func text(_ report: ModelGraceReport?) -> String { report.map { "\($0)" } ?? "pending" }

  private func text(_ outcome: ModelOutcome?) -> String { outcome.map { "\($0)" } ?? "pending" }
}

extension ModelRequest {
  var text: String { "\(CancellationOptions(rawValue: options.rawValue)) because \(reason)" }
}

extension ModelEvent {
  var text: String {
    "\(kind) \(id)" + (request.map { ": \($0.text)" } ?? "") + (outcome.map { ": \($0)" } ?? "")
  }
}
