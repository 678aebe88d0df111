import FutureTree

/// Several threads that observe one pending future and remove the observation. Each time takes three locked sections.
enum OneFuture {
  static func printRound() {
    for threads in [1, 2, 8] {
      let times = measure(threads)
      let rate = Double(times.count) / 200_000
      print("\(threads) threads, observations/µs \(rate), 99.9th percentile in ns \(quantile(times, 0.999))")
    }
  }

  /// The nanoseconds of each observation that began within 200 milliseconds.
  private static func measure(_ threads: Int) -> [Double] {
    let promise = Promise<Int>()
    let future = promise.future
    let end = now() + 200_000_000
    let times = run(threads) { _ in
      var times: [Double] = []
      times.reserveCapacity(2_000_000)
      while true {
        let before = now()
        if before > end { return times }
        future.observe { _ in }.remove()
        times.append(Double(now() - before))
      }
    }
    promise.succeed(0)
    return times
  }
}
