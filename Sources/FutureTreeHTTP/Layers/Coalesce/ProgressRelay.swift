import FutureTree

/// A relay that delivers the progress of one load to all of its callers.
struct ProgressRelay: Sendable {
  typealias Handler = @Sendable (HTTPProgress) -> Void

  /// A caller of the load.
  private struct Caller {
    let handler: Handler
    /// The future of the caller. `nil` until it has been created.
    var future: Future<HTTPResponse>?
  }

  private struct Callers {
    var lastID = 0
    var all: [Int: Caller] = [:]
  }

  private let callers = Locked(Callers())

  /// The number of callers.
  var count: Int { callers.withLock { $0.all.count } }

  /// Adds a handler that receives all later reports. Returns its number.
  func add(_ handler: @escaping Handler) -> Int {
    callers.withLock { callers in
      callers.lastID += 1
      callers.all[callers.lastID] = Caller(handler: handler)
      return callers.lastID
    }
  }

  /// Delivers reports to the handler with this number until the future has completed.
  func follow(_ id: Int, _ future: Future<HTTPResponse>) {
    callers.withLock { $0.all[id]?.future = future }
    future.observe { [weak callers] _ in
      let ended = callers?.withLock { $0.all.removeValue(forKey: id) }
      _ = ended  // Released here, not under the lock.
    }
  }

  /// Delivers a report. The transport makes one call at a time.
  func tell(_ progress: HTTPProgress) {
    let all = callers.withLock { $0.all.sorted { $0.key < $1.key }.map(\.value) }
    for caller in all where caller.future?.isCompleted != true { caller.handler(progress) }
  }
}
