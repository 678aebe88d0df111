import NIOCore
import NIOEmbedded
import Works

/// The counterparts of `OurWorks`, written with `EventLoopFuture` on an `EmbeddedEventLoop`. It runs callbacks where the
/// promise is completed, as `.immediate` does.
enum NIOWorks {
  /// One loop for all works. Closures need not capture it, so NIO pays for no extra context.
  private static let loop = EmbeddedEventLoop()

  /// The works whose instructions are compared, by the names that `run` takes.
  static let all: [(name: String, work: Work)] = [
    ("nio-promise", promise), ("nio-escaping-promise", escapingPromise), ("nio-chain", chain(of: 1000)),
    ("nio-short-chain", chain(of: 10)), ("nio-capturing-chain", capturingChain), ("nio-flatMap", flatMap),
    ("nio-children", children), ("nio-all", all1000), ("nio-complete", completeChain),
  ]

  static let promise = Work("promise", operations: 1000) {
    for number in 0..<1000 {
      let promise = loop.makePromise(of: Int.self)
      promise.futureResult.whenComplete { consume($0) }
      promise.succeed(number)
    }
  }

  static let escapingPromise = Work("promise", operations: 1000) {
    for number in 0..<1000 {
      let promise = loop.makePromise(of: Int.self)
      passed(promise.futureResult).whenComplete { consume($0) }
      promise.succeed(number)
    }
  }

  static func chain(of length: Int) -> Work {
    Work("link", operations: 1000) {
      for _ in 0..<(1000 / length) {
        let promise = loop.makePromise(of: Int.self)
        var tail = promise.futureResult
        for _ in 0..<length { tail = tail.map { $0 &+ 1 } }
        tail.whenComplete { consume($0) }
        promise.succeed(1)
      }
    }
  }

  static let capturingChain = Work("link", operations: 1000) {
    let promise = loop.makePromise(of: Int.self)
    var tail = promise.futureResult
    for number in 0..<1000 { tail = tail.map { $0 &+ number } }
    tail.whenComplete { consume($0) }
    promise.succeed(1)
  }

  static let flatMap = Work("link", operations: 1000) {
    let promise = loop.makePromise(of: Int.self)
    var tail = promise.futureResult
    for _ in 0..<1000 { tail = tail.flatMap { loop.makeSucceededFuture($0 &+ 1) } }
    tail.whenComplete { consume($0) }
    promise.succeed(1)
  }

  static let completeChain = Work("link", operations: 1000) { () -> PendingChain in
    let promise = loop.makePromise(of: Int.self)
    var tail = promise.futureResult
    for _ in 0..<1000 { tail = tail.map { $0 &+ 1 } }
    tail.whenComplete { consume($0) }
    return (promise, tail)
  } repeating: { chain in
    chain.promise.succeed(1)
  }

  private typealias PendingChain = (promise: EventLoopPromise<Int>, tail: EventLoopFuture<Int>)

  static let children = Work("child", operations: 1000) {
    let promise = loop.makePromise(of: Int.self)
    let parent = promise.futureResult
    for _ in 0..<1000 {
      _ = parent.map { value in
        consume(value)
        return value &+ 1
      }
    }
    promise.succeed(1)
  }

  static let all1000 = Work("input", operations: 1000) {
    let promises = (0..<1000).map { _ in loop.makePromise(of: Int.self) }
    let joined = EventLoopFuture.whenAllSucceed(promises.map { $0.futureResult }, on: loop)
    joined.whenComplete { outcome in
      if case .success(let values) = outcome { consume(values[999]) }
    }
    for (number, promise) in promises.enumerated() { promise.succeed(number) }
  }

  /// A pending chain, for its memory. The result retains the tail, and completes the promise when it is called.
  static func pendingChain(of length: Int, capturing: Bool) -> () -> Void {
    let promise = loop.makePromise(of: Int.self)
    var tail = promise.futureResult
    for number in 0..<length { tail = capturing ? tail.map { $0 &+ number } : tail.map { $0 &+ 1 } }
    return {
      tail.whenComplete { consume($0) }
      promise.succeed(1)
    }
  }
}

@inline(__always)
private func consume(_ outcome: Result<Int, any Error>) {
  if case .success(let value) = outcome { consume(value) }
}
