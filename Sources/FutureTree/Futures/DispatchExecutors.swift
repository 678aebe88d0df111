import Dispatch

/// The main actor as a place for bodies. Its one value is `.main`.
///
/// ```swift
/// feed.onSuccess(on: .main) { feed in view.show(feed) }  // The body is isolated to the main actor.
/// ```
///
/// A body runs at once where the main queue is current already, and is dispatched to it otherwise. It is a type of its own
/// because overloads that differ only in the isolation of a closure do not compile.
public struct MainExecutor: Sendable {
  private init() {}

  /// The main actor.
  public static let main = MainExecutor()
}

extension MainExecutor {
  /// The main queue as an executor that does not hop when it is there already.
  static let executor = FutureExecutor.custom { job in
    // The queue is asked, not the thread: under `dispatchMain()` the main queue is not on the main thread.
    if DispatchQueue.getSpecific(key: key) != nil { job() } else { DispatchQueue.main.async(execute: job) }
  }

  private static let key: DispatchSpecificKey<Void> = {
    let key = DispatchSpecificKey<Void>()
    DispatchQueue.main.setSpecific(key: key, value: ())
    return key
  }()

  /// Runs a body of the main actor on the main queue.
  static func assume<Result: Sendable>(_ body: @MainActor () throws -> Result) rethrows -> Result {
    try MainActor.assumeIsolated(body)
  }
}

extension FutureExecutor {
  /// The concurrent queue of the system with this quality of service.
  public static func global(qos: DispatchQoS.QoSClass = .default) -> FutureExecutor {
    queue(DispatchQueue.global(qos: qos))
  }

  /// A dispatch queue, serial or concurrent.
  public static func queue(_ queue: DispatchQueue) -> FutureExecutor {
    custom { job in queue.async(execute: job) }
  }
}
