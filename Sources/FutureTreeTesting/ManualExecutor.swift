import FutureTree

/// An executor that runs its jobs only when the test calls it.
///
/// ```swift
/// let executor = ManualExecutor()
/// let length = name.map(on: executor.executor) { $0.count }
/// #expect(executor.pendingCount == 1)
/// executor.runAll()
/// ```
///
/// Jobs run on the thread that calls `runNext` or `runAll`.
///
/// - Note: All members can be used from any thread.
public final class ManualExecutor: Sendable {
  private let jobs = Locked<[FutureExecutor.Job]>([])
  /// The executors whose job runs on the current thread.
  @TaskLocal private static var current: Set<ObjectIdentifier> = []

  /// Creates an executor without jobs.
  public init() {}

  /// The executor to pass to operators.
  ///
  /// It does not keep this object alive. When this object is deallocated, the jobs that did not run are dropped, and their
  /// futures fail.
  public var executor: FutureExecutor {
    .serial { [weak self] job in
      self?.add(job)
    } isCurrent: { [id = ObjectIdentifier(self)] in
      ManualExecutor.current.contains(id)
    }
  }

  /// Appends a job.
  func add(_ job: @escaping FutureExecutor.Job) {
    jobs.withLock { $0.append(job) }
  }

  /// The number of jobs that wait to run.
  public var pendingCount: Int { jobs.withLock { $0.count } }

  /// Runs the oldest job, or the job at `index` in the order of arrival.
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

  /// Runs jobs until none is left, including the jobs that are added meanwhile.
  ///
  /// - Returns: The number of jobs that ran.
  @discardableResult
  public func runAll() -> Int {
    var count = 0
    while runNext() { count += 1 }
    return count
  }

  /// Drops every job without running it, as an executor does when it is shut down.
  public func dropAll() {
    jobs.release { jobs in
      defer { jobs = [] }
      return jobs
    }
  }
}
