import FutureTree

/// An object that says when it dies, to show what a future still holds.
final class Probe: Sendable {
  private let onDeinit: @Sendable () -> Void

  init(_ onDeinit: @escaping @Sendable () -> Void) {
    self.onDeinit = onDeinit
  }

  /// A use that the optimiser keeps: a closure that calls it holds the probe.
  func touch() {}

  deinit {
    onDeinit()
  }
}

extension Promise {
  /// Installs a handler that holds a probe, and lets the work go on.
  @discardableResult
  func onRequestCancel(on executor: FutureExecutor = .immediate, holding probe: Probe) -> CancelHandler {
    onRequestCancel(on: executor) { _ in
      probe.touch()
      return .continue
    }
  }
}

/// Counts the probes that are alive.
final class Census: Sendable {
  private let count = Locked(0)

  var alive: Int { count.value }

  func probe() -> Probe {
    count.withLock { $0 += 1 }
    return Probe { [count] in count.withLock { $0 -= 1 } }
  }
}
