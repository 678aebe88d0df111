import FutureTree

/// Runs the jobs of tasks when told, so that a test knows when a task waits.
final class ManualTaskExecutor: TaskExecutor {
  private let jobs = Locked<[UnownedJob]>([])
  private let onEnqueue = Locked<(@Sendable () -> Void)?>(nil)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
    onEnqueue.withLock { $0 }?()
  }

  /// Whoever resumes a task of this executor runs `body` while it does.
  func whenEnqueued(_ body: @escaping @Sendable () -> Void) {
    onEnqueue.withLock { $0 = body }
  }

  /// Runs every task as far as it comes.
  func runAll() {
    while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  /// Starts a task that has reached its first wait, or its end, when this returns.
  @discardableResult
  func start(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    let task = Task(executorPreference: self) { await body() }
    runAll()
    return task
  }
}
