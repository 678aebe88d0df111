import FutureTree

/// What is measured of FutureTree without tasks. One repetition is about 1,000 operations.
public enum OurWorks {
  /// The works whose heap blocks and instructions are guarded, by the names in the baseline.
  public static let guarded: [(name: String, work: Work)] = [
    ("promise", promise), ("chain", chain(of: 1000)), ("children", children), ("cancel", cancelTail),
  ]

  /// All works, by the names that `run` takes.
  public static let all: [(name: String, work: Work)] =
    guarded + [
      ("escaping-promise", escapingPromise), ("short-chain", chain(of: 10)), ("capturing-chain", capturingChain),
      ("flatMap", flatMap(of: 1000)), ("all", all1000), ("short-all", shortAll),
      ("complete", completeChain), ("cancel-tree", cancelTree), ("cancel-all", cancelAll), ("token", token),
    ]
}

// MARK: - Promises

extension OurWorks {
  /// A promise is made, its future observed, the promise completed.
  public static let promise = Work("promise", operations: 1000) {
    for number in 0..<1000 {
      let promise = Promise<Int>()
      promise.future.observe { consume($0) }
      promise.succeed(number)
    }
  }

  /// The same with a promise that the optimiser cannot keep on the stack.
  public static let escapingPromise = Work("promise", operations: 1000) {
    for number in 0..<1000 {
      let promise = passed(Promise<Int>())
      promise.future.observe { consume($0) }
      promise.succeed(number)
    }
  }
}

// MARK: - Chains

extension OurWorks {
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

// MARK: - Trees

extension OurWorks {
  /// One future with 1,000 `map` children is made and completed.
  public static let children = Work("child", operations: 1000) {
    let promise = Promise<Int>()
    let parent = promise.future
    for _ in 0..<1000 {
      parent.map { value in
        consume(value)
        return value &+ 1
      }
    }
    promise.succeed(1)
  }

  /// 1,000 promises are made, joined by `all`, and completed.
  public static let all1000 = Work("input", operations: 1000) {
    let promises = (0..<1000).map { _ in Promise<Int>() }
    let joined = Future.all(promises.map { $0.future })
    joined.observe { outcome in
      if case .success(let values) = outcome { consume(values[999]) }
    }
    for (number, promise) in promises.enumerated() { promise.succeed(number) }
  }

  /// 500 times two promises are made, joined by `all`, and completed.
  public static let shortAll = Work("input", operations: 1000) {
    for number in 0..<500 {
      let promises = (0..<2).map { _ in Promise<Int>() }
      let joined = Future.all(promises.map { $0.future })
      joined.observe { outcome in
        if case .success(let values) = outcome { consume(values[1]) }
      }
      for promise in promises { promise.succeed(number) }
    }
  }

  /// Asks the root of a tree to cancel, made before: 1,000 pending leaves want its value. The handler of its promise answers,
  /// and the cancellation comes to each leaf.
  public static let cancelTree = Work("leaf", operations: 1000) { () -> PendingLeaves in
    let promise = Promise<Int>()
    promise.onRequestCancel { _ in .complete(.cancelled) }
    let root = promise.future
    let leaves = (0..<1000).map { _ in root.map { $0 &+ 1 } }
    leaves.last?.observe { outcome in
      if case .cancelled = outcome { consume(1) }
    }
    return (promise, leaves)
  } repeating: { tree in
    tree.promise.future.cancel()
  }

  private typealias PendingLeaves = (promise: Promise<Int>, leaves: [Future<Int>])

  /// Asks an `all` of 1,000 pending leaves, made before, to cancel: each leaf's handler completes it `.cancelled`.
  public static let cancelAll = Work("leaf", operations: 1000) { () -> PendingTree in
    let promises = (0..<1000).map { _ in Promise<Int>() }
    for promise in promises { promise.onRequestCancel { _ in .complete(.cancelled) } }
    let root = Future.all(promises.map { $0.future })
    root.observe { outcome in
      if case .cancelled = outcome { consume(1) }
    }
    return (promises, root)
  } repeating: { tree in
    tree.root.cancel()
  }

  private typealias PendingTree = (promises: [Promise<Int>], root: Future<[Int]>)
}

// MARK: - Tokens

extension OurWorks {
  /// A `CancellationTokenSource` is made, one handler registered, the source cancelled.
  public static let token = Work("token", operations: 1000) {
    for number in 0..<1000 {
      let source = CancellationTokenSource()
      source.token.register { _ in consume(number) }
      source.cancel()
    }
  }
}

@inline(__always)
private func consume(_ outcome: Outcome<Int>) {
  if case .success(let value) = outcome { consume(value) }
}
