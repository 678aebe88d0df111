import FutureTree

/// One cancellation of one small tree, which is made for it. A unit is a promise that is made, cancelled and completed.
extension OurWorks {
  static let everyday: [Named] = [
    ("everyday", cancelledMap), ("everyday-shared-interest", cancelledMapOfMany), ("everyday-handler", answeredRequest),
    ("everyday-forced", forcedMap), ("everyday-shared", cancelledMapOfShared), ("preview", preview),
  ]

  /// A `map` is cancelled alone. The promise is completed later.
  public static let cancelledMap = Work("cancel", operations: 1000) {
    for number in 0..<1000 {
      let promise = Promise<Int>()
      promise.future.map { $0 &+ 1 }.cancel(.doNotForwardRequest)
      promise.succeed(number)
    }
  }

  /// A `map` is cancelled while another consumer waits, with a request that stops there.
  public static let cancelledMapOfMany = Work("cancel", operations: 1000) {
    wanted(Promise<Int>())
  } repeating: { promise in
    let future = promise.future
    for _ in 0..<1000 { future.map { $0 &+ 1 }.cancel(.doNotForwardIfOthersWaiting) }
  }

  /// A request reaches the handler of a promise, which completes it.
  public static let answeredRequest = Work("cancel", operations: 1000) {
    for _ in 0..<1000 {
      let promise = Promise<Int>()
      promise.onRequestCancel { _ in .complete(.cancelled) }
      promise.future.map { $0 &+ 1 }.cancel()
    }
  }

  /// A `map` is cancelled by force, and the promise completed too late.
  public static let forcedMap = Work("cancel", operations: 1000) {
    for number in 0..<1000 {
      let promise = Promise<Int>()
      promise.future.map { $0 &+ 1 }.cancel(.forceImmediately)
      promise.succeed(number)
    }
  }

  /// A `map` of a shared future is cancelled while another consumer waits.
  public static let cancelledMapOfShared = Work("cancel", operations: 1000) { () -> Promise<Int> in
    let promise = wanted(Promise<Int>())
    promise.future.shared()
    return promise
  } repeating: { promise in
    let future = promise.future
    for _ in 0..<1000 { future.map { $0 &+ 1 }.cancel() }
  }

  /// Gives the future of a promise a consumer.
  private static func wanted(_ promise: Promise<Int>) -> Promise<Int> {
    promise.future.map { $0 &+ 1 }
    return promise
  }

  /// Tells what a cancellation of a `map` would do. The tree was made before.
  public static let preview = Work("preview", operations: 1000) { () -> (Promise<Int>, Future<Int>) in
    let promise = Promise<Int>()
    return (promise, promise.future.map { $0 &+ 1 })
  } repeating: { _, mapped in
    for _ in 0..<1000 { consume(mapped.previewCancel().reached) }
  }
}
