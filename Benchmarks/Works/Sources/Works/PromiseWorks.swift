import FutureTree

extension OurWorks {
  static let promises: [Named] = [("escaping-promise", escapingPromise), ("life", life)]

  /// Makes a promise, observes its future, and completes the promise.
  public static let promise = Work("promise", operations: 1000) {
    for number in 0..<1000 {
      let promise = Promise<Int>()
      promise.future.observe { consume($0) }
      promise.succeed(number)
    }
  }

  /// Does the same with a promise that the optimizer cannot keep on the stack.
  public static let escapingPromise = Work("promise", operations: 1000) {
    for number in 0..<1000 {
      let promise = passed(Promise<Int>())
      promise.future.observe { consume($0) }
      promise.succeed(number)
    }
  }

  /// Makes a promise and one `map` of its future, and completes the promise. Compare the works of `everyday` with this one.
  public static let life = Work("life", operations: 1000) {
    for number in 0..<1000 {
      let promise = Promise<Int>()
      promise.future.map { $0 &+ 1 }
      promise.succeed(number)
    }
  }
}
