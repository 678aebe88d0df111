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
    source.runTask(on: .immediate, priority: priority) { source.work({ try await body() }, with: ()) }
    return Future(node: source)
  }
}

// MARK: - Running bodies in tasks

/// The work of a task. A closure in a generic container would be called through a further async function.
@usableFromInline struct TaskWork: Sendable {
  @usableFromInline let run: nonisolated(nonsending) @Sendable () async -> Void

  @inlinable init(_ run: nonisolated(nonsending) @escaping @Sendable () async -> Void) { self.run = run }
}

extension Future {
  /// Returns a future that runs an async body in a task, on the outcomes that its operator defines.
  ///
  /// The future is queued until the task reaches the body. The laws for queued bodies therefore apply to async bodies. Law 11
  /// (bodies that have not begun).
  ///
  /// - Parameter input: Returns the part of the outcome that the body receives.
  @inlinable func asyncNode<Input: Sendable, U>(
    _ createdBy: Operator, _ executor: FutureExecutor, _ body: @escaping @Sendable (Input) async throws -> U,
    on input: @escaping @Sendable (_ upstream: Node) -> Input
  ) -> Future<U> {
    guard !executor.isImmediate else {
      return bodyNode(createdBy, .immediate) { node, upstream in
        let (source, input) = (Future<U>.source(.task), input(upstream))
        return source.run(source.work(body, with: input), of: node, after: upstream)
      }
    }
    let task = BodyTask(Future<U>.source(.task, runningOn: executor), on: executor)
    return bodyNode(createdBy, task.executor) { node, upstream in
      let input = input(upstream)
      task.begin(task.source.work(body, with: input))
      return node.link(to: task.source, as: upstream.endingOnceEnded == .cancelled ? .cleanUp : .work)
    }
  }

  /// Begins the async work of one item or attempt of an operator. See `work(on:unless:_:)`.
  static func asyncWork(
    on executor: FutureExecutor, unless isOver: @escaping @Sendable () -> Bool,
    _ body: @escaping @Sendable () async throws -> Value
  ) -> Future {
    let work = { @Sendable (_: Void) async throws -> Value in
      if isOver() { throw CancellationError() }
      return try await body()
    }
    return Future<Void>.succeeded.asyncNode(.work, executor, work) { _ in }
  }
}

/// The task of an operator with an async body, and the source that it completes.
@usableFromInline
final class BodyTask: @unchecked Sendable {  // Because: only the first statement of the task accesses `work`.
  @usableFromInline let source: Source
  private let place: FutureExecutor
  @exclusivity(unchecked) private var work: TaskWork?

  /// - Parameter executor: The executor that runs the task.
  @usableFromInline init(_ source: Source, on executor: FutureExecutor) {
    self.source = source
    place = executor
  }

  /// The executor of the future of the operator. It runs each job as the first statement of a task. The job calls `begin`, unless
  /// the future has ended.
  @usableFromInline var executor: FutureExecutor {
    FutureExecutor(
      target: Target(on: place) { [self] job in
        source.runTask(on: place) { [self] in
          job()
          return work.take()
        }
      })
  }

  private final class Target: FutureExecutor.Target, @unchecked Sendable {  // Because: see `FutureExecutor.Target`.
    private let place: FutureExecutor

    init(on place: FutureExecutor, submit: @escaping @Sendable (@escaping FutureExecutor.Job) -> Void) {
      self.place = place
      super.init(submit: submit, isCurrentSerial: place.target?.isCurrentSerial)
    }

    override var name: String { place.target?.name ?? "a task" }
  }

  /// Sets the work that the task does after the current job.
  @usableFromInline func begin(_ work: TaskWork) {
    self.work = work
  }
}

extension Source {
  /// Returns the work of a task that completes this source with the result of an async body. No suspension lies between the first
  /// statement of the task and that of the body.
  @inlinable func work<Input: Sendable, Value: Sendable>(
    _ body: @escaping @Sendable (Input) async throws -> Value, with input: Input
  ) -> TaskWork {
    TaskWork {
      do {
        _ = self.fulfill(value: try await body(input))
      } catch {
        self.fulfill(throwing: error)
      }
    }
  }

  /// Runs a task that completes this source, and forwards cancellation requests to the task.
  ///
  /// - Parameters:
  ///   - unbegun: The completion if a request arrives before the task reaches its first statement. `nil` lets the task begin.
  ///   - begin: Called where the task reaches its first statement. Returns the work of the task, or `nil` if there is none. It is
  ///     released without a call if a request arrives first, or if the executor drops the task.
  fileprivate func runTask(
    on executor: FutureExecutor, priority: TaskPriority? = nil, unbegun completion: Completion<Void>? = .cancelled,
    _ begin: @escaping @Sendable () -> TaskWork?
  ) {
    let start = TaskStart(of: self, on: executor, begin)
    let task: Task<Void, Never>
    if executor.isImmediate {
      task = Task(priority: priority) { await start.work()?.run() }
    } else if executor.isMain {
      task = Task(priority: priority) { @MainActor in await start.work()?.run() }
    } else {
      task = Task(executorPreference: start, priority: priority) { await start.work()?.run() }
    }
    let handler = PromiseHandler<Void>(of: self, on: .immediate) { _ in
      if let completion, start.take() != nil { return .complete(completion) }
      task.cancel()
      return .continue
    }
    install(handler)
  }

  /// Runs the async body of an operator in a new task on Swift's concurrent pool, and links the operator to this source.
  ///
  /// There is no queue in which the operator itself could wait. Until the task reaches the body, a request therefore ends the source
  /// as the operator defines: as cancelled, with the failure that `asyncRecover` would have replaced, or not at all.
  @usableFromInline func run(_ work: TaskWork, of node: Node, after upstream: Node) -> Bool {
    let unbegun: Completion<Void>? =
      switch node.state.createdBy {
      case .onComplete: nil
      case .recover: .failure(upstream.error)
      default: .cancelled
      }
    runTask(on: .immediate, unbegun: unbegun) { unbegun == nil || node.ending == nil ? work : nil }
    return node.link(to: self, as: upstream.endingOnceEnded == .cancelled ? .cleanUp : .work)
  }

  /// Completes the source with an error that a body threw. Law 15 (a task as a source).
  @usableFromInline func fulfill(throwing error: any Error) {
    fulfill(Completion<Void>(throwing: error), innerRole: .work)
  }
}

/// The start of a task, which is taken once: by the task, by a request, or by an executor that drops the task. It is also the task
/// executor that runs the jobs of the task on a `FutureExecutor`.
private final class TaskStart: TaskExecutor, @unchecked Sendable {  // Because: `begin` is guarded by `lock`.
  private let source: Source
  private let executor: FutureExecutor
  private let lock = Lock()
  @exclusivity(unchecked) private var begin: (@Sendable () -> TaskWork?)?

  init(of source: Source, on executor: FutureExecutor, _ begin: @escaping @Sendable () -> TaskWork?) {
    self.source = source
    self.executor = executor
    self.begin = begin
  }

  /// Returns the closure that was passed to `runTask`, unless it was taken.
  func take() -> (@Sendable () -> TaskWork?)? {
    var taken: (@Sendable () -> TaskWork?)?
    lock.withLock { swap(&begin, &taken) }
    return taken
  }

  /// Returns the work of the task, or completes the source if there is none.
  func work() -> TaskWork? {
    if let work = take()?() { return work }
    source.fulfill(Completion<Void>.cancelled, innerRole: .work)
    return nil
  }

  private func drop() {
    _ = take()  // Released here, outside the lock.
    source.fulfill(throwing: DroppedJob())
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let queued = Queued(job: UnownedJob(job), owner: self)
    executor.run { queued.run() }
  }

  /// A job of the task that waits on the executor. If the executor drops the job, the future of its task fails with `DroppedJob`. The
  /// task then ends on the global executor, because a task that never runs is never released.
  private final class Queued: @unchecked Sendable {  // Because: only the thread that runs the job accesses `hasBegun`.
    private let job: UnownedJob
    private let owner: TaskStart
    private var hasBegun = false

    init(job: UnownedJob, owner: TaskStart) {
      self.job = job
      self.owner = owner
    }

    func run() {
      hasBegun = true
      job.runSynchronously(on: owner.asUnownedTaskExecutor())
    }

    deinit {
      guard !hasBegun else { return }
      owner.drop()
      globalConcurrentExecutor.enqueue(job)
    }
  }
}
