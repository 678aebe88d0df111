import Dispatch
import Synchronization

/// An executor that runs tasks on the calling thread, so that no thread must be woken.
public final class ManualLoop: TaskExecutor, @unchecked Sendable {  // Because: all of it runs on one thread.
  private var jobs: [UnownedJob] = []
  private var next = 0

  public init() {}

  /// Runs the tasks that `begin` starts, until none is ready and `whenIdle`, which may resume a task, returns false.
  public static func run(_ begin: (ManualLoop) -> Void, whenIdle: () -> Bool) {
    let loop = ManualLoop()
    begin(loop)
    repeat { loop.runAll() } while whenIdle()
  }

  @discardableResult
  public func task(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task(executorPreference: self, operation: body)
  }

  public func enqueue(_ job: consuming ExecutorJob) {
    jobs.append(UnownedJob(job))
  }

  public func runAll() {
    while next < jobs.count {
      next += 1
      jobs[next - 1].runSynchronously(on: asUnownedTaskExecutor())
    }
    jobs.removeAll(keepingCapacity: true)
    next = 0
  }
}

/// Runs a task on the pool and blocks this thread until it ends. `main` is synchronous, because valgrind fails on an
/// asynchronous one.
public func waited(_ body: @escaping @Sendable () async -> Double) -> Double {
  let result = Answer()
  let done = DispatchSemaphore(value: 0)
  Task.detached {
    let answer = await body()
    result.value.withLock { $0 = answer }
    done.signal()
  }
  done.wait()
  return result.value.withLock { $0 }
}

private final class Answer: Sendable {
  let value = Mutex(0.0)
}
