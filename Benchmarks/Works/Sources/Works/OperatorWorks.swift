import FutureTree

/// Chains of 1,000 links of one operator. The names that end in `-failing` complete with a failure.
extension OurWorks {
  public static let operators: [Named] = [
    ("onComplete", link { succeed { $0.onComplete { outcome in Completion(outcome) } } }),
    ("mapError", link { succeed { $0.mapError { error in error } } }),
    ("map-owned", link { succeedOwning { $0.map { $0 } } }),
    ("onComplete-owned", link { succeedOwning { $0.onComplete { outcome in Completion(outcome) } } }),
    ("mapError-owned", link { succeedOwning { $0.mapError { error in error } } }),
    ("mapError-failing", link { fail { $0.mapError { error in error } } }),
    ("recover", link { succeed { $0.recover { _ in 0 } } }),
    ("recover-failing", link { fail { $0.recover { error in throw error } } }),
    ("recoverWith", link { succeed { $0.recoverWith { error in .failed(error) } } }),
    ("recoverWith-failing", link { fail { $0.recoverWith { error in .failed(error) } } }),
    ("ensure", link { succeed { $0.ensure { consume(1) } } }),
    ("ensure-failing", link { fail { $0.ensure { consume(1) } } }),
    ("onFailure", link { succeed { $0.onFailure { _ in consume(1) } } }),
    ("onFailure-failing", link { fail { $0.onFailure { _ in consume(1) } } }),
    ("onCancel", link { succeed { $0.onCancel { _ in consume(1) } } }),
    ("onCancel-cancelled", link { cancel { $0.onCancel { _ in consume(1) } } }),
    ("onSuccess", link { succeed { $0.onSuccess { value in .succeeded(value &+ 1) } } }),
    ("map-failing", link { fail { $0.map { $0 &+ 1 } } }),
    ("shielded", link { succeed { $0.shielded() } }),
    ("timeout", link { succeed { $0.timeout(after: .seconds(1), clock: InertClock()) } }),
    ("delayed", delayed), ("asyncMap", asyncMap), ("asyncOnComplete", asyncOnComplete),
    ("asyncRecover", link { succeed { $0.asyncRecover { _ in 0 } } }),
    ("zip", zip), ("any", any), ("race", race), ("allSettled", allSettled), ("traverse", traverse), ("retry", retry),
  ]

  // MARK: - Chains

  private static func link(_ body: @escaping @Sendable () -> Void) -> Work {
    Work("link", operations: 1000, repeating: body)
  }

  /// Makes a chain of 1,000 links, and completes it. Is inlined, so that a link costs as much as in a loop.
  @inline(__always)
  private static func completed<Value>(
    _ link: (Future<Value>) -> Future<Value>, take: @escaping @Sendable (Value) -> Void,
    by complete: (Promise<Value>) -> Bool
  ) {
    let promise = Promise<Value>()
    var tail = promise.future
    for _ in 0..<1000 { tail = link(tail) }
    tail.observe { outcome in
      if case .success(let value) = outcome { take(value) }
    }
    _ = complete(promise)
  }

  @inline(__always)
  private static func succeed(_ link: (Future<Int>) -> Future<Int>) {
    completed(link, take: { consume($0) }, by: { $0.succeed(1) })
  }

  @inline(__always)
  private static func fail(_ link: (Future<Int>) -> Future<Int>) {
    completed(link, take: { consume($0) }, by: { $0.fail(Failure()) })
  }

  @inline(__always)
  private static func cancel(_ link: (Future<Int>) -> Future<Int>) {
    completed(link, take: { consume($0) }, by: { $0.completeCancelled() })
  }

  /// Completes a chain with a value that must be released.
  @inline(__always)
  private static func succeedOwning(_ link: (Future<[Int]>) -> Future<[Int]>) {
    completed(link, take: { consume($0.count) }, by: { $0.succeed([1]) })
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

  /// Makes, joins and completes two promises, 500 times.
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

  /// Makes, joins and completes 1,000 promises.
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

/// The jobs of an executor that runs them on the calling thread.
private final class JobList: @unchecked Sendable {  // Because: one thread uses it.
  var all: [FutureExecutor.Job] = []
}
