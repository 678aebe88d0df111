import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Law 20: any depth", .tags(.law20), .serialized)
struct Law20AnyDepthTests {
  /// The length that the law guarantees, 1,000,000 futures, for a chain of `map`.
  static let longest = LongTest.count(1_000_000, small: 100_000)
  /// The depth of other shapes: deeper than a recursion could go on 512 KiB.
  static let depth = LongTest.count(100_000, small: 20_000)

  private static func chain(from future: Future<Int>, of length: Int = depth) -> Future<Int> {
    var tail = future
    for _ in 0..<length { tail = tail.map { $0 + 1 } }
    return tail
  }

  @Test("A long chain is built, completed and released on a small stack")
  func completes() {
    let log = Recorder()
    let census = Census()
    onSmallStack {
      let promise = Promise<Int>()
      let head = promise.future.ensure { [probe = census.probe()] in probe.touch() }
      let tail = Self.chain(from: head, of: Self.longest)

      promise.succeed(0)

      log(tail.state)
    }
    expectEqual(log.entries, ["success(\(Self.longest))"])
    expectEqual(census.alive, 0)
  }

  @Test("A long chain is cancelled from its tail and released on a small stack")
  func cancelledLong() {
    let log = Recorder()
    onSmallStack {
      let promise = source(log, answering: .complete(.cancelled))
      let tail = Self.chain(from: promise.future, of: Self.longest)

      let receipt = tail.cancel()

      log("\(tail.state), reached \(receipt.reached)")
    }
    expectEqual(log.entries, ["source: plain", "cancelled, reached \(Self.longest + 1)"])
  }

  @Test("A long pending chain is released with its promise")
  func releasedPending() {
    let log = Recorder()
    onSmallStack {
      var promise: Promise<Int>? = Promise<Int>()
      let tail = Self.chain(from: promise!.future, of: Self.longest)

      promise = nil

      log(tail.outcomeIfCompleted?.error is BrokenPromise ? "broken" : tail.state)
    }
    expectEqual(log.entries, ["broken"])
  }

  @Test("A preview of a long chain runs in constant stack space")
  func preview() {
    let log = Recorder()
    onSmallStack {
      let promise = source(log)
      let tail = Self.chain(from: promise.future)

      log("\(tail.previewCancel())")
      withExtendedLifetime(promise) {}
    }
    expectEqual(log.entries, ["delivered to 1 handler, reached \(Self.depth + 1) futures"])
  }

  @Test("A chain of other operators completes", arguments: ["shielded", "timeout", "all", "race", "mapError"])
  func otherLinks(name: String) {
    let log = Recorder()
    let clock = ManualClock()
    onSmallStack {
      let promise = Promise<Int>()
      var tail = promise.future
      for _ in 0..<Self.depth / 4 {
        switch name {
        case "shielded": tail = tail.shielded()
        case "timeout": tail = tail.timeout(after: .seconds(1), clock: clock)
        case "all": tail = Future.all([tail]).map { $0[0] }
        case "race": tail = Future.race([tail])
        default: tail = tail.mapError { $0 }
        }
      }

      promise.succeed(1)

      log(tail.state)
    }
    expectEqual(log.entries, ["success(1)"])
    expectEqual(clock.timerCount, 0)
  }

  @Test("A chain attached to a completed future completes")
  func completedBefore() {
    let log = Recorder()
    onSmallStack {
      log(Self.chain(from: .succeeded(0)).state)
    }
    expectEqual(log.entries, ["success(\(Self.depth))"])
  }

  @Test("A failure passes through a chain")
  func fails() {
    let log = Recorder()
    onSmallStack {
      let promise = Promise<Int>()
      let tail = Self.chain(from: promise.future)

      promise.fail(Oops())

      log(tail.state)
    }
    expectEqual(log.entries, ["failure(oops)"])
  }

  @Test("A chain is cancelled from its tail", arguments: [CancellationOptions(), .doNotForwardIfOthersWaiting])
  func cancelled(options: CancellationOptions) {
    let log = Recorder()
    onSmallStack {
      let promise = source(log, answering: .complete(.cancelled))
      let tail = Self.chain(from: promise.future)

      let receipt = tail.cancel(options)

      log("\(tail.state), reached \(receipt.reached)")
    }
    expectEqual(log.entries, ["source: \(options.text)", "cancelled, reached \(Self.depth + 1)"])
  }

  @Test("A chain is forced at its tail")
  func forced() {
    let log = Recorder()
    onSmallStack {
      let promise = source(log)
      let tail = Self.chain(from: promise.future)

      tail.cancel(.forceImmediately)
      promise.succeed(1)

      log("\(tail.state)")
    }
    expectEqual(log.entries, ["source: plain", "cancelled"])
  }

  @Test("A long branch without other consumers ends early")
  func endsEarly() {
    let log = Recorder()
    onSmallStack {
      let promise = source(log)
      let other = promise.future.map { $0 }
      let tail = Self.chain(from: promise.future)

      tail.cancel(.doNotForwardIfOthersWaiting)

      log("\(tail.state), \(other.state)")
    }
    expectEqual(log.entries, ["cancelled, pending"])
  }

  @Test("Interest is withdrawn up a chain")
  func withdrawn() {
    let log = Recorder()
    onSmallStack {
      let promise = source(log)
      let other = promise.future.map { $0 }
      let tail = Self.chain(from: promise.future)
      other.cancel(.doNotForwardIfOthersWaiting)

      tail.map { $0 }.cancel(.doNotForwardRequest)

      log(tail.state)
    }
    expectEqual(log.entries, ["source: ifOthers", "pending"])
  }

  @Test("A pending chain is released with its promise and its bodies")
  func droppedPending() {
    let log = Recorder()
    let census = Census()
    onSmallStack {
      func make(_ probe: Probe) -> Future<Int> {
        let promise = Promise<Int>()
        return Self.chain(from: promise.future.ensure { probe.touch() })
      }

      let tail = make(census.probe())

      log(tail.outcomeIfCompleted?.error is BrokenPromise ? "broken" : tail.state)
    }
    expectEqual(log.entries, ["broken"])
    expectEqual(census.alive, 0)
  }

  @Test("A completed chain without references is released with its values")
  func droppedCompleted() {
    let census = Census()
    onSmallStack {
      let promise = Promise<Probe>()
      var futures = [promise.future]
      for _ in 0..<Self.depth { futures.append(futures[futures.count - 1].map { $0 }) }
      promise.succeed(census.probe())
      futures.removeAll()
    }
    expectEqual(census.alive, 0)
  }

  @Test("flatMap recurses over futures that have completed")
  func recursion() {
    let log = Recorder()
    onSmallStack {
      @Sendable func countDown(_ count: Int) -> Future<Int> {
        count == 0 ? .succeeded(0) : Future.succeeded(count - 1).flatMap { countDown($0) }
      }

      log(countDown(Self.depth).state)
    }
    expectEqual(log.entries, ["success(0)"])
  }

  @Test("flatMap recurses over futures that complete one after another")
  func recursionPending() {
    let log = Recorder()
    onSmallStack {
      let current = Locked(Promise<Int>())
      @Sendable func countDown(_ count: Int) -> Future<Int> {
        if count == 0 { return .succeeded(0) }
        let promise = Promise<Int>()
        current.value = promise
        return promise.future.flatMap { countDown($0) }
      }

      let future = countDown(Self.depth)
      for count in (0..<Self.depth).reversed() { current.value.succeed(count) }

      log(future.state)
    }
    expectEqual(log.entries, ["success(0)"])
  }

  @Test("A request goes through a recursion of inner futures to the future awaited now")
  func recursionCancelled() {
    let log = Recorder()
    onSmallStack {
      let innermost = source(log, "innermost", answering: .complete(.cancelled))
      @Sendable func countDown(_ count: Int) -> Future<Int> {
        count == 0 ? innermost.future : Future.succeeded(count - 1).flatMap { countDown($0) }
      }
      let future = countDown(Self.depth)

      future.cancel()

      log(future.state)
    }
    expectEqual(log.entries, ["innermost: plain", "cancelled"])
  }

  @Test("A chain of promises sealed onto each other is cancelled")
  func sealed() {
    let log = Recorder()
    onSmallStack {
      let last = source(log, "last", answering: .complete(.cancelled))
      var future = last.future
      for _ in 0..<Self.depth {
        let promise = Promise<Int>()
        promise.complete(.completeUsing(future))
        future = promise.future
      }

      future.cancel()

      log(future.state)
    }
    expectEqual(log.entries, ["last: plain", "cancelled"])
  }

  @Test("A future with many consumers is cancelled")
  func wide() {
    let log = Recorder()
    onSmallStack {
      let promise = source(log, answering: .complete(.cancelled))
      let all = Future.all((0..<Self.depth).map { _ in promise.future.map { $0 } })

      all.cancel(.doNotForwardIfOthersWaiting)

      log(all.state)
    }
    expectEqual(log.entries, ["source: ifOthers", "cancelled"])
  }

  @Test("The completion of the first of many bodies that own each other's promises completes all")
  func relay() {
    let log = Recorder()
    onSmallStack {
      let promises = (0...Self.depth).map { _ in Promise<Int>() }
      for index in 0..<Self.depth {
        promises[index].future.observe { _ in promises[index + 1].succeed(index) }
      }

      promises[0].succeed(0)

      log(promises[Self.depth].future.state)
    }
    expectEqual(log.entries, ["success(\(Self.depth - 1))"])
  }
}
