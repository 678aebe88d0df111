import FutureTree

/// Cancellations of small trees. A unit is one `map` that is made and cancelled. Most works also make and complete its promise
/// for each unit.
extension OurWorks {
  static let everyday: [Named] = [
    ("everyday", cancelledMap), ("everyday-shared-interest", cancelledMapOfMany), ("everyday-handler", answeredRequest),
    ("everyday-forced", forcedMap), ("everyday-shared", cancelledMapOfShared), ("preview", preview),
  ]

  /// Cancels a `map` with a request that is not forwarded. Completes the promise later.
  public static let cancelledMap = Work("cancel", operations: 1000) {
    for number in 0..<1000 {
      let promise = Promise<Int>()
      promise.future.map { $0 &+ 1 }.cancel(.doNotForwardRequest)
      promise.succeed(number)
    }
  }

  /// Cancels a `map` while another consumer waits, with a request that stops there.
  public static let cancelledMapOfMany = Work("cancel", operations: 1000) {
    wanted(Promise<Int>())
  } repeating: { promise in
    let future = promise.future
    for _ in 0..<1000 { future.map { $0 &+ 1 }.cancel(.doNotForwardIfOthersWaiting) }
  }

  /// Sends a request to the handler of a promise, which completes it.
  public static let answeredRequest = Work("cancel", operations: 1000) {
    for _ in 0..<1000 {
      let promise = Promise<Int>()
      promise.onRequestCancel { _ in .complete(.cancelled) }
      promise.future.map { $0 &+ 1 }.cancel()
    }
  }

  /// Cancels a `map` by force, and completes the promise too late.
  public static let forcedMap = Work("cancel", operations: 1000) {
    for number in 0..<1000 {
      let promise = Promise<Int>()
      promise.future.map { $0 &+ 1 }.cancel(.forceImmediately)
      promise.succeed(number)
    }
  }

  /// Cancels a `map` of a shared future while another consumer waits.
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

  /// Previews the cancellation of a `map`. The tree was made before.
  public static let preview = Work("preview", operations: 1000) { () -> (Promise<Int>, Future<Int>) in
    let promise = Promise<Int>()
    return (promise, promise.future.map { $0 &+ 1 })
  } repeating: { _, mapped in
    for _ in 0..<1000 { consume(mapped.previewCancel().reached) }
  }
}
