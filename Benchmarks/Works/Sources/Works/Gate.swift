import Synchronization

/// A gate at which a task waits until it is cancelled or the gate opens. The peer of a promise with a handler.
public final class Gate: Sendable {
  private enum State {
    case closed
    case waitedFor(CheckedContinuation<Void, Never>)
    case open
  }

  private let state = Mutex(State.closed)

  public init() {}

  /// Whether a task waits.
  public var isWaitedFor: Bool {
    state.withLock { if case .waitedFor = $0 { true } else { false } }
  }

  public nonisolated(nonsending) func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOpen = state.withLock { state in
          if case .open = state { return true }
          state = .waitedFor(continuation)
          return false
        }
        if isOpen { continuation.resume() }
      }
    } onCancel: {
      open()
    }
  }

  public func open() {
    let waiting = state.withLock { state in
      defer { state = .open }
      return if case .waitedFor(let continuation) = state { continuation } else {
        nil as CheckedContinuation<Void, Never>?
      }
    }
    waiting?.resume()
  }
}
