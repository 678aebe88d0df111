import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Misuse: errors instead of hangs and crashes")
struct MisuseTests {
  private func isCircle(_ future: Future<Int>) -> Bool {
    future.outcomeIfCompleted?.error is CompletedWithItself
  }

  @Test("A promise completed with its own future fails")
  func itself() {
    let promise = Promise<Int>()

    promise.complete(.completeUsing(promise.future))

    #expect(isCircle(promise.future))
  }

  @Test("A promise completed with a future derived from its own fails")
  func derived() {
    let promise = Promise<Int>()
    let derived = promise.future.map { $0 }.ensure {}

    promise.complete(.completeUsing(derived))

    #expect(isCircle(promise.future) && isCircle(derived))
  }

  @Test("Promises in a cycle of up to nine fail", arguments: 1...9)
  func circle(length: Int) {
    let promises = (0..<length).map { _ in Promise<Int>() }

    for (index, promise) in promises.enumerated() {
      promise.complete(.completeUsing(promises[(index + 1) % length].future))
    }

    #expect(promises.allSatisfy { isCircle($0.future) })
    #expect(promises.allSatisfy { $0.cancelRequest == nil })
  }

  @Test("A longer cycle is not detected, is shown by tree() and ends by force")
  func longCircle() {
    let promises = (0..<10).map { _ in Promise<Int>() }
    for (index, promise) in promises.enumerated() {
      promise.complete(.completeUsing(promises[(index + 1) % 10].future))
    }

    let size = promises[0].future.tree().entries.count
    promises[0].future.cancel(.forceImmediately)

    expectEqual(size, 10)
    #expect(promises.allSatisfy { $0.future.state == "cancelled" })
  }

  @Test("A body that returns its own future or a derived one fails it", arguments: [true, false])
  func bodyReturnsItself(isDerived: Bool) {
    let box = Locked<Future<Int>?>(nil)
    let promise = Promise<Int>()
    box.value = promise.future.flatMap { _ in isDerived ? box.value!.map { $0 } : box.value! }

    promise.succeed(1)

    #expect(isCircle(box.value!))
  }

  @Test("Both promises fail if two threads close a cycle", .timeLimit(.minutes(20)))
  func racingCircle() {
    race(
      rounds: 2_000, { (Promise<Int>(), Promise<Int>()) },
      {
        [
          { round in round.0.complete(.completeUsing(round.1.future)) },
          { round in round.1.complete(.completeUsing(round.0.future)) },
        ]
      },
      check: { round, number in
        let ends = [round.0.future, round.1.future]
        if !ends.allSatisfy(isCircle) { Issue.record("round \(number): \(ends.map(\.state))") }
      })
  }

  @Test("A second completion returns false")
  func twice() {
    let promise = Promise<Int>()

    let answers = [promise.succeed(1), promise.succeed(2), promise.complete(.completeUsing(promise.future))]

    expectEqual(answers, [true, false, false])
    expectEqual(promise.future.state, "success(1)")
  }

  @Test("A second remove() or cancel() has no effect")
  func handles() {
    let promise = Promise<Int>()
    let observation = promise.future.observe { _ in }
    let handler = promise.onRequestCancel { _ in .continue }
    let (token, bag) = (promise.future.cancelToken(), CancelBag())
    token.store(in: bag)

    for _ in 0..<2 {
      observation.remove()
      handler.remove()
      bag.cancel()
    }

    expectEqual(token.cancel().effect, .duplicate)
  }

  @Test("A future can be joined with itself")
  func joinedWithItself() {
    let promise = Promise<Int>()
    let joined = Future.all([promise.future, promise.future])
    let zipped = Future.zip(promise.future, promise.future)

    promise.succeed(1)

    expectEqual(joined.state, "success([1, 1])")
    expectEqual(zipped.map { [$0.0, $0.1] }.state, "success([1, 1])")
  }

  @Test("A negative duration, a limit of 0 and zero attempts fail with errors that state place and remedy")
  func arguments() {
    let clock = ManualClock()
    let number = Future.succeeded(1)
    let promise = Promise<Int>()
    let errors: [(any Error)?] = [
      promise.future.timeout(after: .seconds(-1), clock: clock).outcomeIfCompleted?.error,
      number.delayed(by: .seconds(-1), clock: clock).outcomeIfCompleted?.error,
      Future.after(.seconds(-1), clock: clock).outcomeIfCompleted?.error,
      Future.traverse([1], atMost: 0) { .succeeded($0) }.outcomeIfCompleted?.error,
      Future.retry(.constant(attempts: 0), clock: clock) { .succeeded($0) }.outcomeIfCompleted?.error,
    ]

    for error in errors {
      let text = (error as? InvalidArgument)?.description ?? "no error"
      #expect(text.contains("MisuseTests.swift:") && (text.contains(" Pass ") || text.contains(" Allow ")))
    }
  }
}
