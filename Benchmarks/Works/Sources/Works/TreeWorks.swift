import FutureTree

extension OurWorks {
  static let trees: [Named] = [
    ("all", all1000), ("short-all", shortAll), ("cancel-tree", cancelTree), ("cancel-all", cancelAll),
    ("cancel-all-children", cancelAllChildren),
  ]

  /// Makes and completes one future with 1,000 `map` children.
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

  /// Makes 1,000 promises, joins them by `all`, and completes them.
  public static let all1000 = Work("input", operations: 1000) {
    let promises = (0..<1000).map { _ in Promise<Int>() }
    let joined = Future.all(promises.map { $0.future })
    joined.observe { outcome in
      if case .success(let values) = outcome { consume(values[999]) }
    }
    for (number, promise) in promises.enumerated() { promise.succeed(number) }
  }

  /// Makes two promises, joins them by `all`, and completes them, 500 times.
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

  /// Cancels the root of a tree, made before, that has 1,000 pending leaves. The handler of its promise completes it, and the
  /// outcome reaches each leaf.
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

  /// Cancels an `all` of 1,000 pending leaves, made before. The handler of each leaf completes it `.cancelled`.
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

  /// Cancels an `all` of 1,000 `map` of one source, made before. The handler of the promise completes it.
  public static let cancelAllChildren = Work("leaf", operations: 1000) { () -> PendingJoin in
    let promise = Promise<Int>()
    promise.onRequestCancel { _ in .complete(.cancelled) }
    let source = promise.future
    let root = Future.all((0..<1000).map { _ in source.map { $0 &+ 1 } })
    root.observe { outcome in
      if case .cancelled = outcome { consume(1) }
    }
    return (promise, root)
  } repeating: { join in
    join.root.cancel()
  }

  private typealias PendingJoin = (promise: Promise<Int>, root: Future<[Int]>)
}
