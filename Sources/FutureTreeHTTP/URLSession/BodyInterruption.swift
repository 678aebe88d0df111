import FutureTree

/// The end of the waits for an asynchronous body, when the transfer of the body ends.
///
/// The platform reads bodies on its own thread, and a read cannot be postponed. A call that cancels a task waits for the
/// same thread. A blocked read must therefore end before the task is cancelled.
final class BodyInterruption: Sendable {
  private struct State {
    var hasFired = false
    var hasFailedRead = false
    /// The handover of the body that was opened last. The platform no longer reads the bodies before it.
    var handover: ChunkHandover?
  }

  private let state = Locked(State())

  /// Whether a read has failed because of the interruption. For the platform, the body is then broken.
  var hasFailedRead: Bool { state.withLock { $0.hasFailedRead } }

  /// Registers the handover of an opened body.
  func attach(_ handover: ChunkHandover) {
    let (hasFired, replaced) = state.withLock { state in
      defer { state.handover = state.hasFired ? nil : handover }
      return (state.hasFired, state.handover)
    }
    if hasFired { handover.stop() }
    replaced?.stop()
  }

  /// Ends the current read and all later reads.
  func fire() {
    let handover = state.withLock { state in
      state.hasFired = true
      return state.handover.take()
    }
    handover?.stop()
  }

  /// Registers the error of a read.
  ///
  /// - Returns: Whether the interruption caused it.
  func caused(_ error: HTTPError) -> Bool {
    guard error.underlying is ChunkHandover.Stopped else { return false }
    state.withLock { $0.hasFailedRead = true }
    return true
  }
}
