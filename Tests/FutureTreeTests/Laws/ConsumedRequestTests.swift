import FutureTree
import TestSupport
import Testing

@Suite("Law 8: no request is lost, requests that an answer consumes", .tags(.law08)) struct ConsumedRequestTests {
  @Test("An answer does not consume a stronger request that came before it: the inner future receives that request")
  func strongerBeforeTheAnswer() {
    let inner = Promise<Int>()
    let received = Locked<ReceivedCancelRequest<Int>?>(nil)
    let promise = Promise<Int>()
    promise.onRequestCancel { request in
      received.value = request
      return .continue
    }

    promise.future.cancel(.doNotForwardIfOthersWaiting, reason: "weak")
    promise.future.cancel(reason: "strong")
    received.value?.complete(.completeUsing(inner.future))

    expectEqual(inner.cancelRequest?.reason.message, "strong")
    inner.succeed(1)
    expectEqual(promise.future.state, "success(1)")
  }

  @Test("An answer consumes the request that it answers: the inner future does not receive it")
  func answered() {
    let inner = Promise<Int>()
    let promise = Promise<Int>()
    promise.onRequestCancel { _ in .complete(.completeUsing(inner.future)) }

    promise.future.cancel()

    #expect(inner.cancelRequest == nil)
    inner.succeed(1)
    expectEqual(promise.future.state, "success(1)")
  }
}
