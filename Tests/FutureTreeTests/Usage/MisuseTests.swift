import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Misuse has an answer: an error, not a hang or a crash")
struct MisuseTests {
  private func isCircle(_ future: Future<Int>) -> Bool {
    future.outcomeIfCompleted?.error is CompletedWithItself
  }

  @Test("a promise completed with its own future")
  func itself() {
    let promise = Promise<Int>()

    promise.complete(.completeUsing(promise.future))

    #expect(isCircle(promise.future))
  }

  @Test("a promise completed with a future that waits for it")
  func derived() {
    let promise = Promise<Int>()
    let derived = promise.future.map { $0 }.ensure {}

    promise.complete(.completeUsing(derived))

    #expect(isCircle(promise.future) && isCircle(derived))
  }

  @Test("two promises completed with each other, and circles of up to nine", arguments: 1...9)
  func circle(length: Int) {
    let promises = (0..<length).map { _ in Promise<Int>() }

    for (index, promise) in promises.enumerated() {
      promise.complete(.completeUsing(promises[(index + 1) % length].future))
    }

    #expect(promises.allSatisfy { isCircle($0.future) })
    #expect(promises.allSatisfy { $0.cancelRequest == nil })
  }

  @Test("a longer circle is not detected; a request with force ends it, and tree() shows it")
  func longCircle() {
    let promises = (0..<10).map { _ in Promise<Int>() }
    for (index, promise) in promises.enumerated() {
      promise.complete(.completeUsing(promises[(index + 1) % 10].future))
    }

    let size = promises[0].future.tree().entries.count
    promises[0].future.cancel(.forceImmediately)

    #expect(size == 10)
    #expect(promises.allSatisfy { $0.future.state == "cancelled" })
  }

  @Test("a body that returns its own future, or one that waits for it", arguments: [true, false])
  func bodyReturnsItself(isDerived: Bool) {
    let box = Locked<Future<Int>?>(nil)
    let promise = Promise<Int>()
    box.value = promise.future.flatMap { _ in isDerived ? box.value!.map { $0 } : box.value! }

    promise.succeed(1)

    #expect(isCircle(box.value!))
  }

  @Test("two threads that close a circle from both sides: both promises fail", .timeLimit(.minutes(60)))
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

  @Test("completing twice is refused, not trapped")
  func twice() {
    let promise = Promise<Int>()

    let answers = [promise.succeed(1), promise.succeed(2), promise.complete(.completeUsing(promise.future))]

    #expect(answers == [true, false, false])
    #expect(promise.future.state == "success(1)")
  }

  @Test("handles are ended twice, tokens cancelled twice, bags told twice")
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

    #expect(token.cancel().effect == .duplicate)
  }

  @Test("a future that is joined with itself")
  func joinedWithItself() {
    let promise = Promise<Int>()
    let joined = Future.all([promise.future, promise.future])
    let zipped = Future.zip(promise.future, promise.future)

    promise.succeed(1)

    #expect(joined.state == "success([1, 1])")
    #expect(zipped.map { [$0.0, $0.1] }.state == "success([1, 1])")
  }

  @Test("a negative duration, a limit of 0, no attempts: errors that say what, where and what now")
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
