// The state of a running propagation.

extension ContractModel {
  /// A future at which a propagation begins.
  struct Start {
    let node: Int
    let request: ModelRequest?
    /// Whether a consumer detaches from the node.
    let detaches: Bool
    /// Whether the node was asked before, and its upstream is asked now.
    var isForwarding = false
  }

  /// The signals that reached one future in a propagation, and their effect.
  struct Arrival {
    enum Fate {
      /// It waits for the outcome of its upstream.
      case forwards
      /// It withheld the request.
      case withheld
      /// Its branch ended early.
      case endedEarly
      case other
    }

    var request: ModelRequest?
    var hasLost = false
    /// Consumers that count and requested nevertheless.
    var askers = 0
    var edges = 0
    var fate = Fate.other

  }

  /// A source with handlers to call. It may have completed before.
  struct Call {
    let future: Int
    let request: ModelRequest
  }

  struct CancellationPropagation {
    var arrivals: [Arrival]
    var calls: [Call] = []
    var receipt = ModelReceipt()
    /// Whether the request is a duplicate at the target, and whether it is one at any other future.
    var isDuplicate = false
    var metDuplicate = false
    var hasCompleted = false
    var withheldBy = 0
    /// Whether a future that lingers withheld the request.
    var lingers = false
    var ended: [Turn] = []
    /// The upstream of futures that ended early.
    var detached: [Start] = []
  }
}
