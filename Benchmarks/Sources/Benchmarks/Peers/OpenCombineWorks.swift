import OpenCombine
import Works

/// The works of `OurWorks` that Combine can express, written with OpenCombine. If the length of a chain is not known at compile
/// time, its types must be erased at each link.
enum OpenCombineWorks {
  static let promise = Work("promise", operations: 1000) {
    for number in 0..<1000 {
      let (future, fulfil) = pending()
      let subscription = future.sink { consume($0) }
      fulfil(.success(number))
      withExtendedLifetime(subscription) {}
    }
  }

  static func chain(of length: Int) -> Work {
    Work("link", operations: 1000) {
      for _ in 0..<(1000 / length) {
        let (future, fulfil) = pending()
        var tail = future.eraseToAnyPublisher()
        for _ in 0..<length { tail = tail.map { $0 &+ 1 }.eraseToAnyPublisher() }
        let subscription = tail.sink { consume($0) }
        fulfil(.success(1))
        withExtendedLifetime(subscription) {}
      }
    }
  }

  /// A chain of `flatMap`. The inner publisher is a `Just`, which costs less than a `Future`.
  static func flatMap(of length: Int) -> Work {
    Work("link", operations: 1000) {
      for _ in 0..<(1000 / length) {
        let (future, fulfil) = pending()
        var tail = future.eraseToAnyPublisher()
        for _ in 0..<length { tail = tail.flatMap { Just($0 &+ 1) }.eraseToAnyPublisher() }
        let subscription = tail.sink { consume($0) }
        fulfil(.success(1))
        withExtendedLifetime(subscription) {}
      }
    }
  }

  /// Children of one publisher. Each child has a subscriber, because a publisher without one does nothing.
  static let children = Work("child", operations: 1000) {
    let (future, fulfil) = pending()
    let subscriptions = (0..<1000).map { _ in
      future.map { $0 &+ 1 }.sink { consume($0) }
    }
    fulfil(.success(1))
    withExtendedLifetime(subscriptions) {}
  }

  private static func pending() -> (Future<Int, Never>, Future<Int, Never>.Promise) {
    var promise: Future<Int, Never>.Promise?
    let future = Future<Int, Never> { promise = $0 }
    guard let promise else { preconditionFailure("a Future calls its closure at once") }
    return (future, promise)
  }
}
