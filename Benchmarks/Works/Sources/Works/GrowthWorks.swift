import FutureTree

/// Works with 10 to 1,000,000 simultaneous units. The cost of a unit must not grow with their number.
extension OurWorks {
  /// The sizes of each work. `CountWorks` accepts names such as `consumers-1000`.
  public static let sizes = [10, 1000, 100_000, 1_000_000]

  static let growth: [Named] =
    sizes.flatMap { size -> [Named] in
      [
        ("consumers-\(size)", consumers(size)), ("inputs-\(size)", inputs(size)), ("links-\(size)", links(size)),
        ("tokens-\(size)", tokens(size)),
      ]
    }
    + [10, 10_000].map { ("diamonds-\($0)", diamonds($0)) }

  /// One repetition has at least 1,000 units.
  private static func work(_ unit: String, _ size: Int, _ body: @escaping @Sendable () -> Void) -> Work {
    let times = max(1, 1000 / size)
    return Work(unit, operations: size * times) {
      for _ in 0..<times { body() }
    }
  }

  private static func consumers(_ size: Int) -> Work {
    work("consumer", size) {
      let promise = Promise<Int>()
      let parent = promise.future
      for _ in 0..<size { parent.map { $0 &+ 1 } }
      promise.succeed(1)
    }
  }

  private static func inputs(_ size: Int) -> Work {
    work("input", size) {
      let promises = (0..<size).map { _ in Promise<Int>() }
      Future.all(promises.map { $0.future }).observe { _ in consume(1) }
      for promise in promises { promise.succeed(1) }
    }
  }

  private static func links(_ size: Int) -> Work {
    work("link", size) {
      let promise = Promise<Int>()
      var tail = promise.future
      for _ in 0..<size { tail = tail.map { $0 &+ 1 } }
      tail.observe { consume($0) }
      promise.succeed(1)
    }
  }

  /// Makes and cancels a stack of diamonds. In each, two paths part and join.
  private static func diamonds(_ size: Int) -> Work {
    work("diamond", size) {
      let promise = Promise<Int>()
      promise.onRequestCancel { _ in .complete(.cancelled) }
      var tail = promise.future
      for _ in 0..<size { tail = Future.all([tail.map { $0 }, tail.map { $0 }]).map { $0[0] } }
      tail.cancel()
    }
  }

  /// Makes, stores and drops cancel tokens of one pending future.
  private static func tokens(_ size: Int) -> Work {
    work("token", size) {
      let promise = Promise<Int>()
      let future = promise.future
      let tokens = (0..<size).map { _ in future.cancelToken() }
      consume(tokens.count)
    }
  }
}
