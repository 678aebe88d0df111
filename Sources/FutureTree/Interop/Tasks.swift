extension Future {
  /// Runs `body` in a new task, and returns a future of its value.
  ///
  /// ```swift
  /// let thumbnail = Future.task { try await render(image) }
  /// thumbnail.cancel()  // Cancels the task, and waits for its result.
  /// ```
  ///
  /// A cancellation request is forwarded to the task, whose body decides the outcome. If the body has not begun by then, it does
  /// not begin, and the future completes as `.cancelled` at once. See <doc:Cancellation#A-task-as-a-source>.
  ///
  /// - Parameters:
  ///   - priority: The priority of the task. `nil` uses the priority of the caller.
  ///   - body: The closure to call. If it throws, the future fails with the error. If it throws `CancellationError` or
  ///     `FutureCancelled`, the future is cancelled.
  public static func task(
    priority: TaskPriority? = nil, _ body: @escaping @Sendable () async throws -> Value
  ) -> Future {
    let source = Future.source(.task)
    source.runTask(on: .immediate, priority: priority) { { await source.fulfill(with: { try await body() }) } }
    return Future(node: source)
  }
}

// MARK: - Running bodies in tasks

/// An async body, which runs where its caller runs. No suspension lies between the caller and its first statement.
@usableFromInline typealias AsyncBody<Value> = nonisolated(nonsending) @Sendable () async throws -> Value
/// The work of a task, which throws nothing.
@usableFromInline typealias TaskWork = nonisolated(nonsending) @Sendable () async -> Void

extension Future {
  /// Returns a future that runs an async body in a task, on the outcomes that its operator defines.
  ///
  /// The future is queued until the task reaches the body. The laws for queued bodies therefore apply to async bodies. Law 11
  /// (bodies that have not begun).
  ///
  /// - Parameter body: Receives the future whose outcome the body reads, and returns the body.
  @inlinable func asyncNode<U>(
    _ createdBy: Operator, _ executor: FutureExecutor,
    _ body: @escaping @Sendable (_ upstream: Node) -> AsyncBody<U>
  ) -> Future<U> {
    guard !executor.isImmediate else {
      return bodyNode(createdBy, executor) { node, upstream in
        let (source, body) = (Future<U>.source(.task, runningOn: executor), body(upstream))
        return node.link(to: source, createdBy, upstream) { await source.fulfill(with: body) }
      }
    }
    let task = BodyTask(Future<U>.source(.task, runningOn: executor), on: executor)
    return bodyNode(createdBy, task.executor) { node, upstream in
      let body = body(upstream)
      task.begin { [source = task.source] in await source.fulfill(with: body) }
      return node.link(to: task.source, as: upstream.endingOnceEnded == .cancelled ? .cleanUp : .work)
    }
  }

  /// Begins the async work of one item or attempt of an operator. See `work(on:unless:_:)`.
  static func asyncWork(
    on executor: FutureExecutor, unless isOver: @escaping @Sendable () -> Bool, _ body: @escaping AsyncBody<Value>
  ) -> Future {
    Future<Void>.succeeded.asyncNode(.work, executor) { _ in
      {
        if isOver() { throw CancellationError() }
        return try await body()
      }
    }
  }
}

extension Node {
  /// Links an operator to the source of its async body, which a new task on Swift's concurrent pool runs.
  ///
  /// There is no queue in which the operator itself could wait. Until the task reaches the body, a request therefore ends the source
  /// as the operator defines: as cancelled, with the failure that `asyncRecover` would have replaced, or not at all.
  @usableFromInline final func link(
    to source: Source, _ createdBy: Operator, _ upstream: Node, _ work: @escaping TaskWork
  ) -> Bool {
    let unbegun: Completion<Void>? =
      switch createdBy {
      case .onComplete: nil
      case .recover: .failure(upstream.error)
      default: .cancelled
      }
    source.runTask(on: .immediate, unbegun: unbegun) { unbegun == nil || self.ending == nil ? work : nil }
    return link(to: source, as: upstream.endingOnceEnded == .cancelled ? .cleanUp : .work)
  }
}

/// The task of an operator with an async body, and the source that it completes.
@usableFromInline
final class BodyTask: Sendable {
  @usableFromInline let source: Source
  private let place: FutureExecutor
  private let work = Locked<TaskWork?>(nil)

  /// - Parameter executor: The executor that runs the task.
  @usableFromInline init(_ source: Source, on executor: FutureExecutor) {
    self.source = source
    place = executor
  }

  /// The executor of the future of the operator. It runs each job as the first statement of a task. The job calls `begin`, unless
  /// the future has ended.
  @usableFromInline var executor: FutureExecutor {
    FutureExecutor(
      submit: { [self] job in
        source.runTask(on: place) { [self] in
          job()
          return work.withLock { $0.take() }
        }
      }, isCurrentSerial: place.target?.isCurrentSerial)
  }

  /// Sets the work that the task does after the current job.
  @usableFromInline func begin(_ work: @escaping TaskWork) {
    self.work.withLock { $0 = work }
  }
}

extension Source {
  /// Completes the source with the result of an async body.
  @inlinable nonisolated(nonsending) func fulfill<Value: Sendable>(with body: AsyncBody<Value>) async {
    do {
      _ = fulfill(value: try await body())
    } catch {
      fulfill(throwing: error)
    }
  }

  /// Runs a task that completes this source, and forwards cancellation requests to the task.
  ///
  /// - Parameters:
  ///   - unbegun: The completion if a request arrives before the task reaches its first statement. `nil` lets the task begin.
  ///   - begin: Called where the task reaches its first statement. Returns the work of the task, or `nil` if there is none. It is
  ///     released without a call if a request arrives first, or if the executor drops the task.
  @usableFromInline func runTask(
    on executor: FutureExecutor, priority: TaskPriority? = nil, unbegun completion: Completion<Void>? = .cancelled,
    _ begin: @escaping @Sendable () -> TaskWork?
  ) {
    let unbegun = Locked(Optional(begin))
    let take = { @Sendable in unbegun.withLock { $0.take() } }
    let run: TaskWork = {
      guard let work = take()?() else {
        self.fulfill(Completion<Void>.cancelled, innerRole: .work)
        return
      }
      await work()
    }
    let task: Task<Void, Never>
    if executor.isImmediate {
      task = Task(priority: priority) { await run() }
    } else if executor.isMain {
      task = Task(priority: priority) { @MainActor in await run() }
    } else {
      let jobs = TaskJobs(executor) {
        _ = take()  // Released here, outside the lock.
        self.fulfill(throwing: DroppedJob())
      }
      task = Task(executorPreference: jobs, priority: priority) { await run() }
    }
    let handler = PromiseHandler<Void>(of: self, on: .immediate) { _ in
      if let completion, take() != nil { return .complete(completion) }
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
