import FutureTree
import TestSupport
import Testing

/// Law 9 (handlers run) decides which requests reach a handler. Law 3 (stopping where others wait) decides about the
/// requester's interest. A request that is a duplicate for the handlers withdraws interest like any other request.
@Suite("Duplicate requests (law 3, stopping where others wait; law 9, handlers run)", .tags(.law03, .law09))
struct DuplicateRequestTests {
  private let heard = Locked<[String]>([])

  private func source() -> Promise<Int> {
    let promise = Promise<Int>()
    promise.onRequestCancel { [heard] request in
      heard.withLock { $0.append("\(request.options) \(request.reason.message)") }
      return .continue
    }
    return promise
  }

  @Test("The last consumer to withdraw delivers the withheld request, also with a duplicate of its own")
  func lastConsumerDelivers() {
    let promise = source()
    promise.future.cancel(.doNotForwardIfOthersWaiting, reason: "first")
    let derived = promise.future.map { $0 }
    let owner = promise.future.cancel([.doNotForwardIfOthersWaiting, .forceImmediately], reason: "owner")

    let preview = derived.previewCancel(.doNotForwardIfOthersWaiting)
    let receipt = derived.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(owner.effect, .withheld(by: 1))
    expectEqual(preview.effect, receipt.effect)
    expectEqual(preview.reached, receipt.reached)
    expectEqual(promise.future.outcomeIfCompleted, .cancelled(promise.future.cancelRequest!.reason))
    expectEqual(promise.future.cancelRequest?.reason.message, "owner")
    #expect(derived.isCompleted)
    expectEqual(heard.value, ["[doNotForwardIfOthersWaiting] first"])
  }

  @Test(
    "A branch of a shared source ends at once, even after an earlier request to the source",
    arguments: [[], .doNotForwardIfOthersWaiting] as [CancellationOptions])
  func branchEnds(options: CancellationOptions) {
    let promise = source()
    promise.future.shared().cancel(reason: "before")
    let branches = (0..<3).map { _ in promise.future.map { $0 } }

    let receipt = branches[1].cancel(options)

    expectEqual(branches.map(\.isCompleted), [false, true, false])
    expectEqual(receipt.effect, .withheld(by: 2))
    expectEqual(heard.value, ["[] before"])
  }

  @Test("The receipt of a duplicate counts only its target, even if the withdrawal delivers a withheld request")
  func reachedByDuplicate() {
    let first = Promise<Int>()
    let inner = first.future.onComplete { Completion($0) }
    let sealed = Promise<Int>()
    sealed.future.cancel()
    sealed.onRequestCancel { _ in .complete(.completeUsing(inner)) }
    inner.cancel([.doNotForwardIfOthersWaiting, .forceImmediately], reason: "withheld")

    let receipt = sealed.future.cancelToken().cancel()

    expectEqual(receipt.effect, .duplicate)
    expectEqual(receipt.reached, 1)
    #expect(inner.isCompleted)
    expectEqual(first.cancelRequest?.reason.message, "withheld")
  }

  @Test("A token is no longer a consumer after a duplicate request")
  func token() {
    let promise = source()
    promise.future.cancel(.doNotForwardIfOthersWaiting, reason: "before")
    let (token, derived) = (promise.future.cancelToken(), promise.future.map { $0 })

    let receipt = token.cancel(.doNotForwardIfOthersWaiting, reason: "again")
    promise.future.cancel([.doNotForwardIfOthersWaiting, .forceImmediately], reason: "owner")
    derived.cancel(.doNotForwardRequest)

    expectEqual(receipt.effect, .withheld(by: 1))
    expectEqual(promise.future.cancelRequest?.reason.message, "owner")
    #expect(promise.future.isCompleted)
  }

  @Test("A duplicate that is not attributed to a consumer has no effect")
  func attributedToNoConsumer() {
    let promise = source()
    promise.future.cancel(reason: "before")
    let derived = promise.future.map { $0 }

    expectEqual(promise.future.cancel(.doNotForwardIfOthersWaiting).effect, .duplicate)
    #expect(!derived.isCompleted)
  }

  @Test("The receipt of a second request is a duplicate if a handler has received the first")
  func receipt() {
    let promise = source()
    promise.future.cancel(reason: "before")

    let receipt = promise.future.map { $0 }.cancel()

    expectEqual(receipt.effect, .duplicate)
  }

  @Test("A source without a handler stores a second request as well")
  func storedTwice() {
    let promise = Promise<Int>()
    promise.future.cancel(reason: "before")

    expectEqual(promise.future.map { $0 }.cancel().effect, .stored)
    promise.onRequestCancel { _ in .continue }
    expectEqual(promise.future.map { $0 }.cancel().effect, .duplicate)
  }

  @Test("A handler receives the stronger of two requests, never their union")
  func neverUnion() {
    let promise = source()
    let derived = promise.future.map { $0 }
    promise.future.cancel([.doNotForwardIfOthersWaiting, .forceImmediately], reason: "one")

    derived.cancel(reason: "two")

    expectEqual(heard.value, ["[doNotForwardIfOthersWaiting, forceImmediately] one"])
    expectEqual(promise.future.cancelRequest?.options, [.doNotForwardIfOthersWaiting, .forceImmediately])
  }

  @Test("A handler that has not been called receives the stronger request that another handler sends")
  func strongerFromHandler() {
    let (first, decides, last) = (Promise<Int>(), Promise<Int>(), source())
    first.onRequestCancel { [future = last.future] _ in
      future.cancel(reason: "stronger")
      return .continue
    }
    let any = Future.any([last.future, first.future, decides.future])

    decides.succeed(1)

    expectEqual(any.outcomeIfCompleted, .success(1))
    expectEqual(heard.value, ["[] stronger"])
    last.succeed(1)
  }

  @Test("The upstream receives the request of the two that reaches further")
  func furtherGoesOn() {
    let promise = source()
    let middle = promise.future.map { $0 }
    let (derived, other) = (middle.map { $0 }, promise.future.map { $0 })
    middle.cancel([.doNotForwardIfOthersWaiting, .forceImmediately], reason: "one")

    derived.cancel(reason: "two")

    expectEqual(middle.cancelRequest?.reason.message, "one")
    #expect(middle.isCompleted)
    expectEqual(heard.value, ["[] two"])
    #expect(!other.isCompleted)
  }

  @Test("A later force with less reach does not replace the request stored for an inner future")
  func innerFuture() {
    let (outer, inner) = (Promise<Int>(), source())
    let derived = Locked<Future<Int>?>(nil)
    derived.value = outer.future.flatMap { _ in
      derived.value?.cancel(reason: "plain")
      derived.value?.cancel([.doNotForwardRequest, .forceImmediately], reason: "forced")
      return inner.future
    }

    outer.succeed(1)

    expectEqual(derived.value?.cancelRequest?.reason.message, "forced")
    expectEqual(heard.value, ["[] plain"])
  }
}
