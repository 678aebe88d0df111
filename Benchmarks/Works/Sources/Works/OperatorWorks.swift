import FutureTree

/// Chains of 1,000 links of one operator. The names that end in `-failing` complete with a failure.
extension OurWorks {
  static let operators: [Named] = [
    ("onComplete", chain { $0.onComplete { outcome in outcome } }),
    ("mapError", chain { $0.mapError { error in error } }),
    ("mapError-failing", failingChain { $0.mapError { error in error } }),
    ("recover", chain { $0.recover { _ in 0 } }),
    ("recover-failing", failingChain { $0.recover { error in throw error } }),
    ("recoverWith", chain { $0.recoverWith { error in .failed(error) } }),
    ("recoverWith-failing", failingChain { $0.recoverWith { error in .failed(error) } }),
    ("ensure", chain { $0.ensure { consume(1) } }),
    ("ensure-failing", failingChain { $0.ensure { consume(1) } }),
    ("onFailure", chain { $0.onFailure { _ in consume(1) } }),
    ("onFailure-failing", failingChain { $0.onFailure { _ in consume(1) } }),
    ("onCancel", chain { $0.onCancel { _ in consume(1) } }),
    ("onCancel-cancelled", cancelledChain { $0.onCancel { _ in consume(1) } }),
    ("onSuccess", chain { $0.onSuccess { value in .succeeded(value &+ 1) } }),
    ("map-failing", failingChain { $0.map { $0 &+ 1 } }),
    ("shielded", chain { $0.shielded() }),
    ("timeout", chain { $0.timeout(after: .seconds(1), clock: InertClock()) }),
    ("delayed", delayed), ("asyncMap", asyncMap), ("asyncOnComplete", asyncOnComplete),
    ("asyncRecover", chain { $0.asyncRecover { _ in 0 } }),
    ("zip", zip), ("any", any), ("race", race), ("allSettled", allSettled), ("traverse", traverse), ("retry", retry),
  ]

  // MARK: - Chains

  private static func chain(_ link: @escaping @Sendable (Future<Int>) -> Future<Int>) -> Work {
    Work("link", operations: 1000) { completed(by: { $0.succeed(1) }, link) }
  }

  private static func failingChain(_ link: @escaping @Sendable (Future<Int>) -> Future<Int>) -> Work {
    Work("link", operations: 1000) { completed(by: { $0.fail(Failure()) }, link) }
  }

  private static func cancelledChain(_ link: @escaping @Sendable (Future<Int>) -> Future<Int>) -> Work {
    Work("link", operations: 1000) { completed(by: { $0.completeCancelled() }, link) }
  }

  @inline(__always)
  private static func completed(by complete: (Promise<Int>) -> Bool, _ link: (Future<Int>) -> Future<Int>) {
    let promise = Promise<Int>()
    var tail = promise.future
    for _ in 0..<1000 { tail = link(tail) }
    tail.observe { consume($0) }
    _ = complete(promise)
  }

  private struct Failure: Error {}

  // MARK: - Time

  /// A chain of 1,000 `delayed`, whose timers are due at once.
  public static let delayed = Work("link", operations: 1000) {
    let clock = DueClock()
    let promise = Promise<Int>()
    var tail = promise.future
    for _ in 0..<1000 { tail = tail.delayed(by: .seconds(1), clock: clock) }
    tail.observe { consume($0) }
    promise.succeed(1)
    while let body = clock.due.take() { body() }
  }

  // MARK: - Tasks

  /// A chain of 1,000 `asyncMap`. The tasks run on this thread, so that callgrind counts them.
  public static let asyncMap = onThisThread { tail, executor in tail.asyncMap(on: executor) { $0 &+ 1 } }

  public static let asyncOnComplete = onThisThread { tail, executor in
    tail.asyncOnComplete(on: executor) { outcome in
      if case .success(let value) = outcome { value &+ 1 } else { 0 }
    }
  }

  private static func onThisThread(
    _ link: @escaping @Sendable (Future<Int>, FutureExecutor) -> Future<Int>
  ) -> Work {
    Work("link", operations: 1000) {
      let jobs = JobList()
      let executor = FutureExecutor.custom { jobs.all.append($0) }
      let promise = Promise<Int>()
      var tail = promise.future
      for _ in 0..<1000 { tail = link(tail, executor) }
      tail.observe { consume($0) }
      promise.succeed(1)
      while let job = jobs.all.popLast() { job() }
    }
  }

  // MARK: - Joins

  /// 500 times two promises are made, joined and completed.
  private static func pairs<Joined>(_ join: @escaping @Sendable (Future<Int>, Future<Int>) -> Future<Joined>) -> Work {
    Work("input", operations: 1000) {
      for number in 0..<500 {
        let first = Promise<Int>()
        let second = Promise<Int>()
        join(first.future, second.future).observe { _ in consume(1) }
        first.succeed(number)
        second.succeed(number)
      }
    }
  }

  public static let zip = pairs { Future.zip($0, $1) }

  /// 1,000 promises are made, joined, and completed.
  private static func joined<Joined>(_ join: @escaping @Sendable ([Future<Int>]) -> Future<Joined>) -> Work {
    Work("input", operations: 1000) {
      let promises = (0..<1000).map { _ in Promise<Int>() }
      join(promises.map { $0.future }).observe { _ in consume(1) }
      for (number, promise) in promises.enumerated() { promise.succeed(number) }
    }
  }

  /// The first input decides.
  public static let any = joined { Future.any($0) }
  public static let race = joined { Future.race($0) }
  public static let allSettled = joined { Future.allSettled($0) }

  /// 1,000 items, eight at a time. Each body returns a future that has succeeded.
  public static let traverse = Work("item", operations: 1000) {
    Future.traverse(0..<1000, atMost: 8) { .succeeded($0 &+ 1) }.observe { _ in consume(1) }
  }

  /// 1,000 calls that need one attempt.
  public static let retry = Work("call", operations: 1000) {
    for _ in 0..<1000 {
      Future.retry(.constant(attempts: 3)) { .succeeded($0) }.observe { consume($0) }
    }
  }
}

/// A clock whose timers never fire.
private struct InertClock: FutureClock {
  var now: Duration { .zero }

  func schedule(after _: Duration, _: @escaping @Sendable () -> Void) -> FutureTimer { FutureTimer {} }
}

/// A clock with one timer, which is due at once.
private final class DueClock: FutureClock, @unchecked Sendable {  // Because: one thread uses it.
  var due: (@Sendable () -> Void)?
  var now: Duration { .zero }

  func schedule(after _: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
    due = body
    return FutureTimer {}
  }
}

/// The jobs of an executor that runs on the thread that asks it to.
private final class JobList: @unchecked Sendable {  // Because: one thread uses it.
  var all: [FutureExecutor.Job] = []
}
