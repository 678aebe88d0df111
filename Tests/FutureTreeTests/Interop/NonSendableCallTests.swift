import Dispatch
import FutureTree
import TestSupport
import Testing

/// A call that is not Sendable.
private final class StoppableCall {
  private let log: Recorder
  private var stops = 0

  init(_ log: Recorder) {
    self.log = log
  }

  func stop() {
    stops += 1
    log("stop \(stops)")
  }
}

@Suite("Bridges: from non-Sendable calls")
struct NonSendableCallTests {
  private let log = Recorder()

  @Test("A request cancels a work item that has not begun, and its future completes `.cancelled`")
  func workItem() async {
    let queue = DispatchQueue(label: "work")
    queue.suspend()
    let future = Future<Int>.wrapping { [log] completion in
      let item = DispatchWorkItem { completion(.success(log("ran", passing: 1))) }
      queue.async(execute: item)
      return item
    } cancel: { item in
      item.cancel()
    }

    let receipt = future.cancel(reason: "closed")
    queue.resume()

    expectEqual(receipt.effect, .delivered)
    await expectEqual(future.outcome.reason?.message, "closed")
    expectEqual(log.entries, [])
  }

  @Test("A work item that is not cancelled reports its value")
  func workItemRuns() async throws {
    let future = Future<Int>.wrapping { completion in
      let item = DispatchWorkItem { completion(.success(1)) }
      DispatchQueue.global().async(execute: item)
      return item
    } cancel: { item in
      item.cancel()
    }

    try await expectEqual(future.value, 1)
  }

  @Test("A call is cancelled once, even from a thread other than its own")
  func otherThread() {
    let handler = Locked<Future<Int>.ResultHandler?>(nil)
    let future = Future<Int>.wrapping { [log] completion in
      handler.value = completion
      return StoppableCall(log)
    } cancel: { call in
      call.stop()
    }

    onAnotherThread { for _ in 0..<2 { future.cancel() } }

    expectEqual(log.entries, ["stop 1"])
    handler.value?(.failure(CancellationError()))
    expectEqual(future.state, "cancelled")
  }

  @Test("`wrappingOptionals` accepts a non-Sendable call")
  func optionals() {
    let handler = Locked<Future<Int>.OptionalsHandler?>(nil)
    let future = Future<Int>.wrappingOptionals { [log] completion in
      handler.value = completion
      return StoppableCall(log)
    } cancel: { call in
      call.stop()
    } isCancellation: { error in
      error is Oops
    }

    future.cancel()
    handler.value?(nil, Oops())

    expectEqual(log.entries, ["stop 1"])
    expectEqual(future.state, "cancelled")
  }
}
