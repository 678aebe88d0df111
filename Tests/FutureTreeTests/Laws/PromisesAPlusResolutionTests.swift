import FutureTree
import TestSupport
import Testing

@Suite("Promises/A+ 2.2.7: results of a body")
struct PromisesAPlusReturnTests {
  @Test("2.2.7.1, 2.3.4 a value that a body returns fulfills the returned future", arguments: Settlement.all)
  func value(_ settlement: Settlement) {
    let (future, settle) = settlement.make()

    let returned = future.onComplete { _ in .success(5) }
    settle()

    expectEqual(returned.state, "success(5)")
    #expect(returned != future)
  }

  @Test("2.2.7.2 an error that a body throws fails the returned future", arguments: Settlement.all)
  func thrown(_ settlement: Settlement) {
    let (future, settle) = settlement.make()

    let returned = future.onComplete { _ -> Completion<Int> in throw Oops("thrown") }
    settle()

    expectEqual(returned.state, "failure(thrown)")
  }

  @Test("2.2.7.2 a body may throw after a success and after a failure")
  func thrownByKind() {
    let afterSuccess = Future.succeeded(1).onSuccess { _ -> Future<Int> in throw Oops("after success") }
    let afterFailure = Future<Int>.failed(Oops()).recover { _ in throw Oops("after failure") }

    expectEqual(afterSuccess.state, "failure(after success)")
    expectEqual(afterFailure.state, "failure(after failure)")
  }

  @Test("2.2.7.3 a success passes through operators without a body for it", arguments: Settlement.fulfilled)
  func successPasses(_ settlement: Settlement) {
    let (future, settle) = settlement.make()

    let returned = [future.recover { _ in 9 }, future.onFailure { _ in }, future.onCancel { _ in }]
    settle()

    expectEqual(returned.states(), Array(repeating: settlement.state, count: 3))
  }

  @Test("2.2.7.4 a rejection passes through operators without a body for it", arguments: Settlement.rejected)
  func rejectionPasses(_ settlement: Settlement) {
    let (future, settle) = settlement.make()

    let returned = [future.onSuccess { .succeeded($0 + 1) }, future.map { $0 + 1 }, future.flatMap { .succeeded($0) }]
    settle()

    expectEqual(returned.states(), Array(repeating: settlement.state, count: 3))
  }
}

@Suite("Promises/A+ 2.3.1: a future completed with itself")
struct PromisesAPlusSelfTests {
  @Test("2.3.1 a promise completed with its own future fails")
  func promise() {
    let promise = Promise<Int>()

    promise.complete(.completeUsing(promise.future))

    #expect(promise.future.outcomeIfCompleted?.error is CompletedWithItself)
  }

  @Test("2.3.1 a future whose body returns it fails", arguments: Settlement.all)
  func body(_ settlement: Settlement) {
    let (gate, open) = settlement.make()
    let own = Locked<Future<Int>?>(nil)
    let opened = Promise<Int>()

    own.value = gate.onComplete { _ in .completeUsing(opened.future) }
      .onComplete { _ in .completeUsing(own.value ?? .succeeded(0)) }
    open()
    opened.succeed(1)

    #expect(own.value?.outcomeIfCompleted?.error is CompletedWithItself)
  }

  @Test("2.3.1 a promise completed with a join of its own future fails", arguments: JoinOperator.allCases)
  func join(_ join: JoinOperator) {
    let (promise, other) = (Promise<Int>(), Promise<Int>())
    let joined = join.apply([other.future, promise.future.map { $0 + 1 }])

    promise.complete(.completeUsing(joined))

    #expect(promise.future.outcomeIfCompleted?.error is CompletedWithItself)
  }

  enum JoinOperator: CaseIterable {
    case all, allSettled, race, any

    func apply(_ futures: [Future<Int>]) -> Future<Int> {
      switch self {
      case .all: Future.all(futures).map { $0[0] }
      case .allSettled: Future.allSettled(futures).map { $0.count }
      case .race: Future.race(futures)
      case .any: Future.any(futures)
      }
    }
  }

  @Test("2.3.1 a future that recovers with itself fails")
  func recover() {
    let own = Locked<Future<Int>?>(nil)
    let promise = Promise<Int>()
    own.value = promise.future.recoverWith { _ in own.value ?? .succeeded(0) }

    promise.fail(Oops())

    #expect(own.value?.outcomeIfCompleted?.error is CompletedWithItself)
  }
}

@Suite("Promises/A+ 2.3.2: adopting the state of another future")
struct PromisesAPlusAdoptionTests {
  /// A way in which a future adopts the state of another.
  struct Adoption: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let adopt: @Sendable (Future<Int>) -> Future<Int>

    static let every = [
      Adoption(testDescription: "completeUsing") { inner in
        let promise = Promise<Int>()
        promise.complete(.completeUsing(inner))
        return promise.future
      },
      Adoption(testDescription: "flatMap") { inner in Future.succeeded(0).flatMap { _ in inner } },
      Adoption(testDescription: "onSuccess") { inner in Future.succeeded(0).onSuccess { _ in inner } },
      Adoption(testDescription: "recoverWith") { inner in
        Future.failed(Oops("first")).recoverWith { _ in inner }
      },
      Adoption(testDescription: "onComplete") { inner in
        Future<Int>.cancelled("first").onComplete { _ in .completeUsing(inner) }
      },
    ]
  }

  @Test("2.3.2.1 a future is pending until the adopted future is settled", arguments: Adoption.every)
  func pending(_ adoption: Adoption) {
    let promise = Promise<Int>()

    let future = adoption.adopt(promise.future)

    expectEqual(future.state, "pending")
    withExtendedLifetime(promise) {}
  }

  @Test("2.3.2.2, 2.3.2.3 a future settles as the adopted future does", arguments: Adoption.every, Settlement.all)
  func settled(_ adoption: Adoption, _ settlement: Settlement) {
    let (inner, settle) = settlement.make()

    let future = adoption.adopt(inner)
    settle()

    expectEqual(future.state, settlement.state)
    expectEqual(future.reason, inner.reason)
  }

  @Test("2.3.2 a future may adopt a future that adopts another", arguments: Adoption.every, Settlement.all)
  func nested(_ adoption: Adoption, _ settlement: Settlement) {
    let (inner, settle) = settlement.make()

    let future = adoption.adopt(adoption.adopt(adoption.adopt(inner)))
    settle()

    expectEqual(future.state, settlement.state)
  }
}

@Suite("Promises/A+ 2.3.3: the first resolution wins")
struct PromisesAPlusResolutionTests {
  /// A call that completes a promise, and the resulting state of its future if the call is the first. The state of a
  /// pending inner future is its later state.
  struct Resolution: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let state: String
    let completion: @Sendable (Promise<Int>) -> Completion<Int>

    static let every = [
      Resolution(testDescription: "succeed", state: "success(1)") { _ in .success(1) },
      Resolution(testDescription: "fail", state: "failure(oops)") { _ in .failure(Oops()) },
      Resolution(testDescription: "cancel", state: "cancelled") { _ in .cancelled("gone") },
      Resolution(testDescription: "seal onto a pending future", state: "success(7)") { .completeUsing($0.future) },
      Resolution(testDescription: "seal onto a success", state: "success(2)") { _ in .completeUsing(.succeeded(2)) },
      Resolution(testDescription: "seal onto a failure", state: "failure(inner)") { _ in
        .completeUsing(.failed(Oops("inner")))
      },
    ]
  }

  @Test("2.3.3.3.3 each later call is ignored and returns false", arguments: Resolution.every, Resolution.every)
  func later(_ first: Resolution, _ second: Resolution) {
    for moment in Moment.allCases {
      let log = Recorder()
      let promise = Promise<Int>()
      let pending = Promise<Int>()
      let other = Promise<Int>()
      if moment == .already { #expect(promise.complete(first.completion(pending))) }
      promise.future.observe { log($0.state) }
      if moment == .immediately { #expect(promise.complete(first.completion(pending))) }
      if moment == .eventually { onAnotherThread { #expect(promise.complete(first.completion(pending))) } }

      #expect(!promise.complete(second.completion(other)))
      onAnotherThread { #expect(!promise.complete(second.completion(other))) }
      other.succeed(9)
      pending.succeed(7)

      expectEqual(promise.future.state, first.state)
      expectEqual(log.entries, [first.state])
    }
  }

  @Test("2.3.3.3.3 a call during the notification of the first resolution is ignored", arguments: Resolution.every)
  func whileNotifying(_ second: Resolution) {
    let promise = Promise<Int>()
    let other = Promise<Int>()
    promise.future.observe { _ in #expect(!promise.complete(second.completion(other))) }

    promise.succeed(5)
    other.succeed(9)

    expectEqual(promise.future.state, "success(5)")
  }

  @Test("2.3.3.3.4 an error after the first resolution is ignored", arguments: Resolution.every)
  func thrownAfterwards(_ first: Resolution) {
    let pending = Promise<Int>()
    let promise = Promise<Int>()

    let work = Future<Int>.succeeded(0).map { _ -> Int in
      promise.complete(first.completion(pending))
      throw Oops("afterwards")
    }
    work.onFailure { promise.fail($0) }
    pending.succeed(7)

    expectEqual(work.state, "failure(afterwards)")
    expectEqual(promise.future.state, first.state)
  }
}
