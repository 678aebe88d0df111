import FutureTree
import FutureTreeHTTP
import HTTPTestSupport
import TestSupport
import Testing

@Suite("LiveLoads") struct LiveLoadsTests {
  private let live = LiveLoads()

  @Test("The caller's future has the outcome of the work, which is tracked until it ends")
  func tracked() {
    let work = Promise<Int>()
    let load = live.track(work.future)
    expectEqual(live.count, 1)

    work.succeed(1)

    expectEqual(load.text, "success")
    expectEqual(live.count, 0)
  }

  @Test("A cancellation request reaches the work, and the caller's future waits for it (H5, confirmed cancellation)")
  func cancelled() {
    let work = Promise<Int>()
    let load = live.track(work.future)

    expectEqual(load.cancel(.doNotForwardIfOthersWaiting).effect, .stored)

    #expect(work.cancelRequest != nil)
    expectEqual(load.text, "pending")
    work.completeCancelled()
    expectEqual(load.text, "cancelled")
    expectEqual(live.count, 0)
  }

  @Test("Force ends the caller's future but not the work, and a reset waits for it (H6, refuse, drain, wipe)")
  func forced() {
    let work = Promise<Int>()
    let load = live.track(work.future)

    load.cancel(.forceImmediately)
    let reset = live.drain()

    expectEqual(load.text, "cancelled")
    expectEqual(work.cancelRequest?.options, [])
    expectEqual(reset.text, "pending")
    expectEqual(live.count, 1)
    work.completeCancelled()
    expectEqual(reset.text, "success")
    expectEqual(live.count, 0)
  }

  @Test("A reset cancels all work, even if a caller's future is shared, and waits for every outcome")
  func reset() {
    let works = (0..<3).map { _ in Promise<Int>() }
    let loads = works.map { live.track($0.future).shared() }
    let waiting = loads.map { $0.map { $0 } }

    let reset = live.drain()

    #expect(works.allSatisfy { $0.cancelRequest?.reason.kind == .reset })
    works[0].succeed(1)
    works[1].fail(Oops())
    expectEqual(reset.text, "pending")
    works[2].completeCancelled()
    expectEqual(reset.text, "success")
    expectEqual(waiting.map(\.text), ["success", "oops", "cancelled"])
    expectEqual(live.drain().text, "success")
  }

  @Test("Cancelling a reset stops only the wait")
  func resetCancelled() {
    let work = Promise<Int>()
    _ = live.track(work.future)
    let reset = live.drain()

    reset.cancel()

    expectEqual(reset.text, "cancelled")
    expectEqual(live.count, 1)
    work.completeCancelled()
  }

  @Test("A reset on another thread while a load ends leaves no load behind")
  func resetWhileEnding() {
    let work = Promise<Int>()
    let seen = Locked<Int?>(nil)
    // This observer is notified before the registry.
    work.future.observe { [live] _ in
      onAnotherThread {
        if live.drain().isCompleted { seen.value = live.count }
      }
    }
    _ = live.track(work.future)

    work.succeed(1)

    expectEqual(seen.value, 0)
    expectEqual(live.count, 0)
  }

  @Test("A dropped registry lets its loads end")
  func dropped() {
    let work = Promise<Int>()
    let load = LiveLoads().track(work.future)

    work.succeed(1)

    expectEqual(load.text, "success")
  }
}
