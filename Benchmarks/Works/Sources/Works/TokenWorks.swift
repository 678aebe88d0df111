import FutureTree

extension OurWorks {
  static let tokens: [Named] = [
    ("token", token), ("cancelToken", cancelToken), ("cancelToken-asked", askedCancelToken),
  ]

  /// Makes a `CancellationTokenSource`, registers one handler, and cancels the source.
  public static let token = Work("token", operations: 1000) {
    for number in 0..<1000 {
      let source = CancellationTokenSource()
      source.token.register { _ in consume(number) }
      source.cancel()
    }
  }

  /// Makes and drops a cancel token of a pending future.
  public static let cancelToken = Work("token", operations: 1000) { () -> Promise<Int> in
    Promise<Int>()
  } repeating: { promise in
    let future = promise.future
    for _ in 0..<1000 { _ = future.cancelToken() }
  }

  /// Makes a cancel token, and cancels with a request that is withheld because another consumer waits.
  public static let askedCancelToken = Work("token", operations: 1000) { () -> Promise<Int> in
    let promise = Promise<Int>()
    promise.future.map { $0 &+ 1 }
    return promise
  } repeating: { promise in
    let future = promise.future
    for _ in 0..<1000 { future.cancelToken().cancel(.doNotForwardIfOthersWaiting) }
  }
}
