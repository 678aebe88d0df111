import FutureTree

extension OurWorks {
  static let chains: [Named] = [
    ("short-chain", chain(of: 10)), ("capturing-chain", capturingChain), ("flatMap", flatMap(of: 1000)),
    ("complete", completeChain), ("logged-chain", loggedChain),
  ]

  /// Makes chains of `map`, observes their tails, completes and releases them.
  public static func chain(of length: Int) -> Work {
    Work("link", operations: 1000) {
      for _ in 0..<(1000 / length) {
        let promise = Promise<Int>()
        var tail = promise.future
        for _ in 0..<length { tail = tail.map { $0 &+ 1 } }
        tail.observe { consume($0) }
        promise.succeed(1)
      }
    }
  }

  /// A chain of 1,000 `map` whose bodies capture a value that differs from link to link.
  public static let capturingChain = Work("link", operations: 1000) {
    let promise = Promise<Int>()
    var tail = promise.future
    for number in 0..<1000 { tail = tail.map { $0 &+ number } }
    tail.observe { consume($0) }
    promise.succeed(1)
  }

  /// A chain of 1,000 `map` in a log that keeps the latest 1,000 events.
  public static let loggedChain = Work("link", operations: 1000) {
    let promise = Promise<Int>()
    var tail = promise.future.logged(in: fullLog)
    for _ in 0..<1000 { tail = tail.map { $0 &+ 1 } }
    tail.observe { consume($0) }
    promise.succeed(1)
  }

  private static let fullLog = FutureLog(limit: 1000)

  /// Chains of `flatMap` whose bodies return a future that has succeeded.
  public static func flatMap(of length: Int) -> Work {
    Work("link", operations: 1000) {
      for _ in 0..<(1000 / length) {
        let promise = Promise<Int>()
        var tail = promise.future
        for _ in 0..<length { tail = tail.flatMap { .succeeded($0 &+ 1) } }
        tail.observe { consume($0) }
        promise.succeed(1)
      }
    }
  }

  /// Completes a chain of 1,000 `map` that was made before.
  public static let completeChain = Work("link", operations: 1000) {
    pendingChain()
  } repeating: { chain in
    chain.promise.succeed(1)
  }

  /// Cancels a chain of 1,000 `map`, made before, at its tail. The request reaches the handler of the promise, which completes
  /// it. The outcome then reaches the tail.
  public static let cancelTail = Work("link", operations: 1000) { () -> PendingChain in
    let chain = pendingChain()
    chain.promise.onRequestCancel { _ in .complete(.cancelled) }
    return chain
  } repeating: { chain in
    chain.tail.cancel()
  }

  private typealias PendingChain = (promise: Promise<Int>, tail: Future<Int>)

  private static func pendingChain() -> PendingChain {
    let promise = Promise<Int>()
    var tail = promise.future
    for _ in 0..<1000 { tail = tail.map { $0 &+ 1 } }
    tail.observe { consume($0) }
    return (promise, tail)
  }
}
