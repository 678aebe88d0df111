import FutureTree

/// An object that reports its deallocation, to find the objects that a future retains.
final class Probe: Sendable {
  private let onDeinit: @Sendable () -> Void

  init(_ onDeinit: @escaping @Sendable () -> Void) {
    self.onDeinit = onDeinit
  }

  /// Uses the probe in a way that the optimizer keeps: a closure that calls it retains the probe.
  func touch() {}

  deinit {
    onDeinit()
  }
}

extension Promise {
  /// Installs a handler that retains a probe and answers `.continue`.
  @discardableResult
  func onRequestCancel(on executor: FutureExecutor = .immediate, holding probe: Probe) -> CancelHandler {
    onRequestCancel(on: executor) { _ in
      probe.touch()
      return .continue
    }
  }
}

/// A counter of live probes.
final class Census: Sendable {
  private let count = Locked(0)

  var alive: Int { count.value }

  func probe() -> Probe {
    count.withLock { $0 += 1 }
    return Probe { [count] in count.withLock { $0 -= 1 } }
  }
}
