import FutureTree
import TestSupport
import Testing

@Suite("Law 18: provenance")
struct Law18ProvenanceTests {
  private let file = "FutureTreeTests/Law18ProvenanceTests.swift"

  @Test("a request carries its message, and the file and line of the cancel call, into the outcome")
  func outcome() {
    let promise = Promise<Int>()
    promise.onRequestCancel { _ in .complete(.cancelled) }
    let derived = promise.future.map { $0 }

    let line: UInt = #line + 1
    derived.cancel(reason: "the view went away")

    for reason in [derived.reason, promise.future.reason] {
      #expect(reason?.message == "the view went away")
      #expect(reason?.fileID.description == file)
      #expect(reason?.line == line)
    }
  }

  @Test("it reaches handlers")
  func handlers() {
    let kept = Locked<CancellationReason?>(nil)
    let promise = Promise<Int>()
    promise.onRequestCancel { request in
      kept.value = request.reason
      return .continue
    }

    let line: UInt = #line + 1
    promise.future.map { $0 }.cancel(reason: "why")

    #expect(kept.value?.message == "why")
    #expect(kept.value?.fileID.description == file)
    #expect(kept.value?.line == line)
  }

  @Test("without a reason the file and line are still those of the call")
  func noReason() {
    let promise = Promise<Int>()

    let line: UInt = #line + 1
    promise.future.cancel(.forceImmediately)

    #expect(promise.future.reason?.fileID.description == file)
    #expect(promise.future.reason?.line == line)
    #expect(promise.future.reason?.message.isEmpty == false)
  }

  @Test("a token stamps its call")
  func token() {
    let promise = Promise<Int>()
    let token = promise.future.cancelToken()

    let line: UInt = #line + 1
    token.cancel(.forceImmediately, reason: "token")

    #expect(promise.future.reason?.message == "token")
    #expect(promise.future.reason?.fileID.description == file)
    #expect(promise.future.reason?.line == line)
  }

  @Test("a bag stamps its call")
  func bag() {
    let promise = Promise<Int>()
    let bag = CancelBag()
    bag.insert(promise.future.cancelToken())

    let line: UInt = #line + 1
    bag.cancel(.forceImmediately, reason: "bag")

    #expect(promise.future.reason?.message == "bag")
    #expect(promise.future.reason?.line == line)
  }

  @Test("completeCancelled stamps its call")
  func completeCancelled() {
    let promise = Promise<Int>()
    let named = Promise<Int>()

    let line: UInt = #line + 1
    promise.completeCancelled()
    named.completeCancelled("gone")

    #expect(promise.future.reason?.fileID.description == file)
    #expect(promise.future.reason?.line == line)
    #expect(named.future.reason?.message == "gone")
    #expect(named.future.reason?.fileID.description == file)
    #expect(named.future.reason?.line == line + 1)
  }

  @Test("completeCancelled without a reason takes that of the request, if there was one")
  func completeCancelledAsked() {
    // Two readings: the place that completed, or the place that asked. ".cancelled carries ... the file and line that
    // asked": somebody asked, so it is that.
    let promise = Promise<Int>()
    promise.future.cancel(reason: "asked")

    promise.completeCancelled()

    #expect(promise.future.reason?.message == "asked")
  }

  @Test("a function that cancels for others can pass their file and line")
  func forwarded() {
    let promise = Promise<Int>()

    promise.future.cancel(.forceImmediately, reason: "x", fileID: "App/Screen.swift", line: 42)

    #expect(promise.future.reason?.fileID.description == "App/Screen.swift")
    #expect(promise.future.reason?.line == 42)
  }

  @Test("an interpolated reason is stamped as well")
  func interpolated() {
    let promise = Promise<Int>()
    let attempt = 3

    let line: UInt = #line + 1
    promise.future.cancel(.forceImmediately, reason: "attempt \(attempt)")

    #expect(promise.future.reason?.message == "attempt 3")
    #expect(promise.future.reason?.line == line)
  }

  @Test("a branch that ended early knows who asked")
  func branch() {
    let promise = Promise<Int>()
    let asker = promise.future.map { $0 }
    let other = promise.future.map { $0 }

    let line: UInt = #line + 1
    asker.cancel(.doNotForwardIfOthersWaiting, reason: "left")

    #expect(asker.reason?.message == "left")
    #expect(asker.reason?.line == line)
    withExtendedLifetime(other) {}
  }

  @Test("it passes through every operator and join", arguments: Step.every)
  func passes(step: Step) {
    let derived = step.apply(.cancelled("origin"))

    #expect(derived.reason?.message == "origin")
  }

  @Test("onCancel and FutureCancelled have it")
  func bodies() {
    let log = Recorder()
    let future = Future<Int>.cancelled("origin").onCancel { log($0.message) }

    let error = #expect(throws: FutureCancelled.self) { try future.outcomeIfCompleted?.get() }

    #expect(log.entries == ["origin"])
    #expect(error?.reason.message == "origin")
  }

  @Test("its description tells the message and the place")
  func description() {
    let reason = CancellationReason("why", fileID: "App/Screen.swift", line: 42)

    #expect("\(reason)".contains("why"))
    #expect("\(reason)".contains("Screen.swift:42"))
  }
}
