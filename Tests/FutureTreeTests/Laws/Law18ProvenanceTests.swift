import FutureTree
import TestSupport
import Testing

@Suite("Law 18: provenance", .tags(.law18))
struct Law18ProvenanceTests {
  private let file = "FutureTreeTests/Law18ProvenanceTests.swift"

  @Test("A request carries its message, and the file and line of the cancel call, into the outcome")
  func outcome() {
    let promise = Promise<Int>()
    promise.onRequestCancel { _ in .complete(.cancelled) }
    let derived = promise.future.map { $0 }

    let line: UInt = #line + 1
    derived.cancel(reason: "the view went away")

    for reason in [derived.reason, promise.future.reason] {
      expectEqual(reason?.message, "the view went away")
      expectEqual(reason?.fileID.description, file)
      expectEqual(reason?.line, line)
    }
  }

  @Test("The reason reaches handlers")
  func handlers() {
    let received = Locked<CancellationReason?>(nil)
    let promise = Promise<Int>()
    promise.onRequestCancel { request in
      received.value = request.reason
      return .continue
    }

    let line: UInt = #line + 1
    promise.future.map { $0 }.cancel(reason: "why")

    expectEqual(received.value?.message, "why")
    expectEqual(received.value?.fileID.description, file)
    expectEqual(received.value?.line, line)
  }

  @Test("A request without a reason has the file and line of the call")
  func noReason() {
    let promise = Promise<Int>()

    let line: UInt = #line + 1
    promise.future.cancel(.forceImmediately)

    expectEqual(promise.future.reason?.fileID.description, file)
    expectEqual(promise.future.reason?.line, line)
    expectEqual(promise.future.reason?.message.isEmpty, false)
  }

  @Test("A token records the file and line of its call")
  func token() {
    let promise = Promise<Int>()
    let token = promise.future.cancelToken()

    let line: UInt = #line + 1
    token.cancel(.forceImmediately, reason: "token")

    expectEqual(promise.future.reason?.message, "token")
    expectEqual(promise.future.reason?.fileID.description, file)
    expectEqual(promise.future.reason?.line, line)
  }

  @Test("A bag records the file and line of its call")
  func bag() {
    let promise = Promise<Int>()
    let bag = CancelBag()
    bag.insert(promise.future.cancelToken())

    let line: UInt = #line + 1
    bag.cancel(.forceImmediately, reason: "bag")

    expectEqual(promise.future.reason?.message, "bag")
    expectEqual(promise.future.reason?.line, line)
  }

  @Test("completeCancelled records the file and line of its call")
  func completeCancelled() {
    let promise = Promise<Int>()
    let named = Promise<Int>()

    let line: UInt = #line + 1
    promise.completeCancelled()
    named.completeCancelled("gone")

    expectEqual(promise.future.reason?.fileID.description, file)
    expectEqual(promise.future.reason?.line, line)
    expectEqual(named.future.reason?.message, "gone")
    expectEqual(named.future.reason?.fileID.description, file)
    expectEqual(named.future.reason?.line, line + 1)
  }

  @Test("completeCancelled without a reason takes the reason of an earlier request")
  func completeCancelledAsked() {
    // Two readings: the file and line of the completion, or of the request. By the law `.cancelled` carries the file
    // and line of the request, if there was one.
    let promise = Promise<Int>()
    promise.future.cancel(reason: "asked")

    promise.completeCancelled()

    expectEqual(promise.future.reason?.message, "asked")
  }

  @Test("A function that cancels for others can pass their file and line")
  func forwarded() {
    let promise = Promise<Int>()

    promise.future.cancel(.forceImmediately, reason: "x", fileID: "App/Screen.swift", line: 42)

    expectEqual(promise.future.reason?.fileID.description, "App/Screen.swift")
    expectEqual(promise.future.reason?.line, 42)
  }

  @Test("An interpolated reason records the file and line of the call")
  func interpolated() {
    let promise = Promise<Int>()
    let attempt = 3

    let line: UInt = #line + 1
    promise.future.cancel(.forceImmediately, reason: "attempt \(attempt)")

    expectEqual(promise.future.reason?.message, "attempt 3")
    expectEqual(promise.future.reason?.line, line)
  }

  @Test("A branch that ended early has the file and line of the request")
  func branch() {
    let promise = Promise<Int>()
    let requester = promise.future.map { $0 }
    let other = promise.future.map { $0 }

    let line: UInt = #line + 1
    requester.cancel(.doNotForwardIfOthersWaiting, reason: "left")

    expectEqual(requester.reason?.message, "left")
    expectEqual(requester.reason?.line, line)
    withExtendedLifetime(other) {}
  }

  @Test("The reason passes through every operator and join", arguments: Step.every)
  func passes(step: Step) {
    let derived = step.apply(.cancelled("origin"))

    expectEqual(derived.reason?.message, "origin")
  }

  @Test("onCancel and FutureCancelled carry the reason")
  func bodies() {
    let log = Recorder()
    let future = Future<Int>.cancelled("origin").onCancel { log($0.message) }

    let error = #expect(throws: FutureCancelled.self) { try future.outcomeIfCompleted?.get() }

    expectEqual(log.entries, ["origin"])
    expectEqual(error?.reason.message, "origin")
  }

  @Test("The description of a reason contains the message, the file and the line")
  func description() {
    let reason = CancellationReason("why", fileID: "App/Screen.swift", line: 42)

    #expect("\(reason)".contains("why"))
    #expect("\(reason)".contains("Screen.swift:42"))
  }
}
