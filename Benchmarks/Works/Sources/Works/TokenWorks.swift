import FutureTree

extension OurWorks {
  static let tokens: [Named] = [
    ("token", token), ("cancelToken", cancelToken), ("cancelToken-asked", askedCancelToken),
  ]

  /// A `CancellationTokenSource` is made, one handler registered, the source cancelled.
  public static let token = Work("token", operations: 1000) {
    for number in 0..<1000 {
      let source = CancellationTokenSource()
      source.token.register { _ in consume(number) }
      source.cancel()
    }
  }

  /// A cancel token of a pending future is taken and dropped.
  public static let cancelToken = Work("token", operations: 1000) { () -> Promise<Int> in
    Promise<Int>()
  } repeating: { promise in
    let future = promise.future
    for _ in 0..<1000 { _ = future.cancelToken() }
  }

  /// A cancel token is taken and asked to cancel with a request that stops at another consumer, which is there.
  public static let askedCancelToken = Work("token", operations: 1000) { () -> Promise<Int> in
    let promise = Promise<Int>()
    promise.future.map { $0 &+ 1 }
    return promise
  } repeating: { promise in
    let future = promise.future
    for _ in 0..<1000 { future.cancelToken().cancel(.doNotForwardIfOthersWaiting) }
  }
}
