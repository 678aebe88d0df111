import FutureTree

extension OurWorks {
  static let chains: [Named] = [
    ("short-chain", chain(of: 10)), ("capturing-chain", capturingChain), ("flatMap", flatMap(of: 1000)),
    ("complete", completeChain),
  ]

  /// Chains of `map` are made, observed at the tail, completed and let go.
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

  /// A chain of 1,000 `map` whose bodies capture what changes from link to link.
  public static let capturingChain = Work("link", operations: 1000) {
    let promise = Promise<Int>()
    var tail = promise.future
    for number in 0..<1000 { tail = tail.map { $0 &+ number } }
    tail.observe { consume($0) }
    promise.succeed(1)
  }

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

  /// Asks the tail of a chain of 1,000 `map`, made before, to cancel: the request goes up to the promise, whose handler
  /// answers, and the cancellation comes down again.
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
