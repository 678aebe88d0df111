// Law 25 (grace).

extension ContractModel {
  /// A cancellation with a grace period.
  struct Grace {
    let future: Int
    let request: ModelRequest
    let asked: ModelReceipt
    var report: ModelGraceReport?

    var hasEnded: Bool { report != nil }
  }

  mutating func cancelWithGrace(_ future: Int, _ request: ModelRequest) {
    let asked = cancel(future, request)
    settle()
    graces.append(Grace(future: future, request: request, asked: asked))
    let grace = graces.count - 1
    guard nodes[future].outcome == nil else { return endGrace(grace) }
    nodes[future].listeners.append(.grace(grace))
    timers.append(.grace(grace))
  }

  /// Reports that the future has completed in time.
  mutating func endGrace(_ grace: Int) {
    guard !graces[grace].hasEnded else { return }
    end(grace, forced: nil)
  }

  /// Forces a future that has not completed in time.
  mutating func force(_ grace: Int) {
    tally[.grace] += 1
    let reason = ModelReason.afterGrace(graces[grace].request.reason)
    if mistake == .forcesNobody { return end(grace, forced: nil) }
    let forced = cancel(graces[grace].future, ModelRequest(options: .force, reason: reason))
    end(grace, forced: forced)
  }

  private mutating func end(_ grace: Int, forced: ModelReceipt?) {
    let ending = nodes[graces[grace].future].outcome?.ending
    graces[grace].report = ModelGraceReport(asked: graces[grace].asked, forced: forced, ending: ending)
  }
}

/// What a cancellation with a grace period did.
struct ModelGraceReport: Hashable {
  let asked: ModelReceipt
  let forced: ModelReceipt?
  /// The ending of the future. `nil` if it is pending.
  let ending: Int?
}
