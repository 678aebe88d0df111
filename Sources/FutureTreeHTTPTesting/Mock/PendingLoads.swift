import FutureTree

/// The loads and transfers that have not completed, in the order in which they began.
struct PendingLoads {
  struct Load: Sendable {
    let cancel: @Sendable (CancellationReason) -> Void
    let ended: @Sendable () -> Future<Void>
    let ignoresCancel: Bool

    init<Value>(_ future: Future<Value>, ignoresCancel: Bool) {
      cancel = { future.cancel(reason: $0) }
      ended = { future.onComplete { _ in .success } }
      self.ignoresCancel = ignoresCancel
    }
  }

  private var loads: [Int: Load] = [:]
  private var lastID = 0

  var all: [Load] { loads.sorted { $0.key < $1.key }.map(\.value) }

  mutating func add(_ load: Load) -> Int {
    lastID += 1
    loads[lastID] = load
    return lastID
  }

  mutating func remove(_ id: Int) -> Load? {
    loads.removeValue(forKey: id)
  }
}
