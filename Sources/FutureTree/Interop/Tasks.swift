extension Future {
  /// Runs `body` in a new task, and returns a future of its value.
  ///
  /// ```swift
  /// let thumbnail = Future.task { try await render(image) }
  /// thumbnail.cancel()  // Cancels the task, and waits for its result.
  /// ```
  ///
  /// A cancellation request is forwarded to the task, whose body decides the outcome. A body that has not begun by then does
  /// not begin. See <doc:Cancellation#A-task-as-a-source>.
  ///
  /// - Parameters:
  ///   - priority: The priority of the task. `nil` uses the priority of the caller.
  ///   - body: The closure to call. If it throws, the future fails with the error. If it throws `CancellationError` or
  ///     `FutureCancelled`, the future is cancelled.
  public static func task(
    priority: TaskPriority? = nil, _ body: @escaping @Sendable () async throws -> Value
  ) -> Future {
    running(on: .immediate, priority: priority, body)
  }
}

// MARK: - Running bodies in tasks

extension Future {
  /// Returns a source that a new task completes.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs the task.
  ///   - actor: The executor of the actor to which the body is isolated. `wait(for:)` checks it.
  ///   - askedFirst: The completion if the source is asked before the body has begun, or `nil` if the body begins anyway. Law
  ///     11 (bodies that have not begun).
  @inlinable static func running(
    on executor: FutureExecutor, actor: FutureExecutor? = nil, priority: TaskPriority? = nil,
    askedFirst: Completion<Value>? = .cancelled, _ body: @escaping @Sendable () async throws -> Value
  ) -> Future {
    let source = Future.source(.task, runningOn: actor ?? executor)
    source.runTask(on: executor, priority: priority) {
      if let askedFirst, Task.isCancelled {
        source.fulfill(askedFirst, innerRole: .work)
        return
      }
      do {
        _ = source.fulfill(value: try await body())
      } catch {
        source.fulfill(throwing: error)
      }
    }
    return Future(node: source)
  }
}

extension Source {
  /// Runs a task that completes this source, and forwards cancellation requests to the task.
  @usableFromInline func runTask(
    on executor: FutureExecutor, priority: TaskPriority?, _ body: @escaping @Sendable () async -> Void
  ) {
    let task: Task<Void, Never>
    if executor.isImmediate {
      task = Task(priority: priority, operation: body)
    } else {
      let jobs = TaskJobs(executor) { self.fulfill(throwing: DroppedJob()) }
      task = Task(executorPreference: jobs, priority: priority, operation: body)
    }
    let handler = PromiseHandler<Void>(of: self, on: .immediate) { _ in
      task.cancel()
      return .continue
    }
    install(handler)
  }

  /// Completes the source with an error that a body threw. Law 15 (a task as a source).
  @usableFromInline func fulfill(throwing error: any Error) {
    fulfill(Completion<Void>(throwing: error), innerRole: .work)
  }
}

/// A task executor that runs the jobs of one task on a `FutureExecutor`.
private final class TaskJobs: TaskExecutor {
  private let executor: FutureExecutor
  private let onDrop: @Sendable () -> Void

  init(_ executor: FutureExecutor, onDrop: @escaping @Sendable () -> Void) {
    self.executor = executor
    self.onDrop = onDrop
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let queued = Queued(job: UnownedJob(job), owner: self)
    executor.run { queued.run() }
  }

  /// A job that waits on the executor. If the executor drops the job, the future of its task fails with `DroppedJob`. The
  /// task then ends on the global executor, because a task that never runs is never released.
  private final class Queued: @unchecked Sendable {  // Because: only the thread that runs the job accesses `hasBegun`.
    private let job: UnownedJob
    private let owner: TaskJobs
    private var hasBegun = false

    init(job: UnownedJob, owner: TaskJobs) {
      self.job = job
      self.owner = owner
    }

    func run() {
      hasBegun = true
      job.runSynchronously(on: owner.asUnownedTaskExecutor())
    }

    deinit {
      guard !hasBegun else { return }
      owner.onDrop()
      globalConcurrentExecutor.enqueue(job)
    }
  }
}
