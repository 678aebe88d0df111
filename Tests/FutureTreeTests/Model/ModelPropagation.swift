// What a propagation knows while it runs.

extension ContractModel {
  /// Where a propagation begins.
  struct Start {
    let node: Int
    let request: ModelRequest?
    /// Whether a consumer leaves the node.
    let leaves: Bool
    /// Whether the node was asked before, and what it waits for is asked now.
    var isForwarding = false
  }

  /// What reached one future in a propagation, and what it made of it.
  struct Arrival {
    enum Fate {
      /// It waits for what comes back from upstream.
      case forwards
      /// The request stopped there.
      case withheld
      /// Its branch ended with what it waited for.
      case endedEarly
      case other
    }

    var request: ModelRequest?
    var hasLost = false
    /// Consumers that are counted and asked all the same.
    var askers = 0
    var edges = 0
    var fate = Fate.other

  }

  /// A source whose handlers are to be called. It may have ended before.
  struct Call {
    let future: Int
    let request: ModelRequest
  }

  struct CancellationPropagation {
    var arrivals: [Arrival]
    var calls: [Call] = []
    var receipt = ModelReceipt()
    /// Whether the target had been asked as strongly before, and whether any other had.
    var isDuplicate = false
    var metDuplicate = false
    var hasCompleted = false
    var withheldBy = 0
    var ended: [Turn] = []
    /// What futures waited for that have ended early.
    var left: [Start] = []
  }
}
