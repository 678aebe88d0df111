extension Future {
  /// Runs a task, and returns a future of what it returns.
  ///
  /// ```swift
  /// let thumbnail = Future.task { try await render(image) }
  /// thumbnail.cancel()  // cancels the task, and waits for what it makes of that
  /// ```
  ///
  /// A request to cancel is forwarded to the task, which decides what comes of it (law 15). A body that has not begun by
  /// then does not begin.
  ///
  /// - Parameters:
  ///   - priority: the priority of the task; by default that of the caller.
  ///   - body: what it throws fails the future; `CancellationError` and `FutureCancelled` cancel it.
  public static func task(
    priority: TaskPriority? = nil, _ body: @escaping @Sendable () async throws -> Value
  ) -> Future {
    running(on: .immediate, priority: priority, body)
  }
}

// MARK: - Bodies that are tasks

extension Future {
  /// A task as a source.
  ///
  /// - Parameters:
  ///   - executor: where the task runs.
  ///   - actor: the executor of the actor to which the body is isolated, for `wait(for:)` to know.
  ///   - askedFirst: what comes of it if it is asked before the body has begun (law 11); nil if the body begins all the same.
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
  /// Runs a task that completes this source. Forwards requests to cancel to the task.
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

  /// Completes its promise with an error that a body threw (law 15).
  @usableFromInline func fulfill(throwing error: any Error) {
    fulfill(Completion<Void>(throwing: error), innerRole: .work)
  }
}

/// Runs the jobs of one task on a `FutureExecutor`.
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

  /// A job on its way through the executor. If it is dropped there, the future of its task fails instead of hanging, and
  /// the task ends elsewhere, because a task that nobody runs is never freed.
  private final class Queued: @unchecked Sendable {  // Because: `hasBegun` belongs to whoever runs the job.
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
