import FutureTree

/// An executor that runs the jobs of tasks on request, so that a test knows when a task waits.
final class ManualTaskExecutor: TaskExecutor {
  private let jobs = Locked<[UnownedJob]>([])
  private let onEnqueue = Locked<(@Sendable () -> Void)?>(nil)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
    onEnqueue.withLock { $0 }?()
  }

  /// Sets a closure that runs on the thread that enqueues a job of this executor, while it does so.
  func whenEnqueued(_ body: @escaping @Sendable () -> Void) {
    onEnqueue.withLock { $0 = body }
  }

  /// Runs every task until it waits or ends.
  func runAll() {
    while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  /// Starts a task. When this returns, the task has reached its first wait or its end.
  @discardableResult
  func start(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    let task = Task(executorPreference: self) { await body() }
    runAll()
    return task
  }
}
