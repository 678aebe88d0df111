import FutureTree

/// An executor that runs its jobs when the test says so.
///
/// ```swift
/// let executor = ManualExecutor()
/// let length = name.map(on: executor.executor) { $0.count }
/// #expect(executor.pendingCount == 1)
/// executor.runAll()
/// ```
///
/// Jobs run on the thread that calls `runNext` or `runAll`. It can be used from any thread.
public final class ManualExecutor: Sendable {
  private let jobs = Locked<[FutureExecutor.Job]>([])
  /// The executors whose jobs the current thread is in.
  @TaskLocal private static var current: Set<ObjectIdentifier> = []

  /// An executor without jobs.
  public init() {}

  /// The executor to hand to operators. It does not keep this object alive: when this object goes, jobs that did not run are
  /// dropped, and their futures fail.
  public var executor: FutureExecutor {
    .serial { [weak self] job in
      self?.jobs.withLock { $0.append(job) }
    } isCurrent: { [id = ObjectIdentifier(self)] in
      ManualExecutor.current.contains(id)
    }
  }

  /// How many jobs wait.
  public var pendingCount: Int { jobs.withLock { $0.count } }

  /// Runs the job that has waited longest, or the one at `index` in the order of arrival.
  ///
  /// - Returns: `false` if there is no such job.
  @discardableResult
  public func runNext(at index: Int = 0) -> Bool {
    let job: FutureExecutor.Job? = jobs.withLock { jobs in
      jobs.indices.contains(index) ? jobs.remove(at: index) : nil
    }
    guard let job else { return false }
    ManualExecutor.$current.withValue(ManualExecutor.current.union([ObjectIdentifier(self)])) { job() }
    return true
  }

  /// Runs jobs, those that they add included, until none waits.
  ///
  /// - Returns: how many ran.
  @discardableResult
  public func runAll() -> Int {
    var count = 0
    while runNext() { count += 1 }
    return count
  }

  /// Drops every job without running it, as an executor does that is shut down.
  public func dropAll() {
    let dropped = jobs.withLock { jobs in
      defer { jobs = [] }
      return jobs
    }
    _ = dropped  // Freed here, not under the lock.
  }
}
