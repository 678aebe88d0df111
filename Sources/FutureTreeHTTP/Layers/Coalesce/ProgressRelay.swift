import FutureTree

/// Tells the progress of one load to all who wait for it.
struct ProgressRelay: Sendable {
  typealias Handler = @Sendable (HTTPProgress) -> Void

  /// One who waits.
  private struct Caller {
    let handler: Handler
    /// What it waits for; nil while that is being made.
    var future: Future<HTTPResponse>?
  }

  private struct Callers {
    var lastID = 0
    var all: [Int: Caller] = [:]
  }

  private let callers = Locked(Callers())

  /// How many are told.
  var count: Int { callers.withLock { $0.all.count } }

  /// Returns the number of one who is told from now on.
  func add(_ handler: @escaping Handler) -> Int {
    callers.withLock { callers in
      callers.lastID += 1
      callers.all[callers.lastID] = Caller(handler: handler)
      return callers.lastID
    }
  }

  /// The one with this number is told until this future has ended.
  func follow(_ id: Int, _ future: Future<HTTPResponse>) {
    callers.withLock { $0.all[id]?.future = future }
    future.observe { [weak callers] _ in
      let ended = callers?.withLock { $0.all.removeValue(forKey: id) }
      _ = ended  // Freed here, not under the lock.
    }
  }

  /// Called by the transport, one call at a time.
  func tell(_ progress: HTTPProgress) {
    let all = callers.withLock { $0.all.sorted { $0.key < $1.key }.map(\.value) }
    for caller in all where caller.future?.isCompleted != true { caller.handler(progress) }
  }
}
