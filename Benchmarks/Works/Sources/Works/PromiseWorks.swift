import FutureTree

extension OurWorks {
  static let promises: [Named] = [("escaping-promise", escapingPromise), ("life", life)]

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

  /// A promise and one `map` of its future are made, and the promise is completed. Compare the works of `everyday` with it.
  public static let life = Work("life", operations: 1000) {
    for number in 0..<1000 {
      let promise = Promise<Int>()
      promise.future.map { $0 &+ 1 }
      promise.succeed(number)
    }
  }
}
