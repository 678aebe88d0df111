import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// Work that says what it is doing.
private final class Worker: Sendable {
  let phase = Locked("connecting")
  let count = Locked(0)

  func describe(_ promise: Promise<Int>) {
    promise.describeActivity(of: self) { worker in
      worker.count.withLock { $0 += 1 }
      return worker.phase.value.isEmpty ? nil : worker.phase.value
    }
  }
}

@Suite("Activities of promises") struct ActivityTests {
  private let promise = Promise<Int>()
  private let worker = Worker()

  @Test("A tree shows what the work of a promise is doing, at that time")
  func trees() {
    let title = promise.future.named("load").map { $0 }.named("title")
    worker.describe(promise)

    let first = title.tree()
    worker.phase.value = "receiving 12 of 100 bytes"
    let second = title.tree()
    worker.phase.value = ""
    let third = title.tree()

    expectEqual(first.description, "load      pending, connecting, 1 consumer\n└─ title  pending  ← here")
    expectEqual(second.entries.last?.activity, "receiving 12 of 100 bytes")
    expectEqual(third.description, "load      pending, 1 consumer\n└─ title  pending  ← here")
  }

  @Test("A name before or after the description keeps it", arguments: [true, false])
  func names(isFirst: Bool) {
    if isFirst { _ = promise.future.named("load") }
    worker.describe(promise)
    if !isFirst { _ = promise.future.named("load") }

    expectEqual(promise.future.tree().description, "load  pending, connecting")
    _ = promise.future.logged(in: FutureLog())
    expectEqual(promise.future.tree().description, "load  pending, connecting")
  }

  @Test("A receipt says what the work was doing when its handler received the request")
  func receipts() {
    let worker = worker
    promise.onRequestCancel { _ in
      worker.phase.value = "stopping"
      return .continue
    }
    worker.describe(promise)

    let receipt = promise.future.map { $0 }.cancel()
    let again = promise.future.cancel()

    expectEqual(receipt.activity, "connecting")
    expectEqual(receipt.description, "delivered to 1 handler, reached 2 futures, met while connecting")
    #expect(again.activity == nil)
    expectEqual(promise.future.tree().entries[0].activity, "stopping")
  }

  @Test("The receipt of a join has the activity of the first work that received the request")
  func joins() {
    let other = Promise<Int>()
    for promise in [promise, other] { promise.onRequestCancel { _ in .complete(.cancelled) } }
    let all = Future.all([promise.future, other.future])
    worker.describe(promise)

    expectEqual(all.cancel().activity, "connecting")
    expectEqual(worker.count.value, 1)
  }

  @Test("Without a handler, nothing receives the request, and the receipt has no activity")
  func withoutHandler() {
    worker.describe(promise)

    #expect(promise.future.cancel().activity == nil)
    expectEqual(worker.count.value, 0)
  }

  @Test("A preview calls nothing")
  func previews() {
    promise.onRequestCancel { _ in .continue }
    worker.describe(promise)

    #expect(promise.future.previewCancel().activity == nil)
    expectEqual(worker.count.value, 0)
  }

  @Test("A promise that was completed or sealed does nothing", arguments: [true, false])
  func ends(isSealed: Bool) {
    worker.describe(promise)
    let rest = Promise<Int>()
    promise.complete(isSealed ? .completeUsing(rest.future) : .success(1))
    promise.activityChanged()

    #expect(promise.future.tree().entries.allSatisfy { $0.activity == nil })
    expectEqual(worker.count.value, 0)
    withExtendedLifetime(rest) {}
  }

  @Test("The worker is not retained")
  func workersEnd() {
    weak var ended: Worker?
    do {
      let worker = Worker()
      ended = worker
      worker.describe(promise)
    }

    #expect(ended == nil)
    #expect(promise.future.tree().entries[0].activity == nil)
  }

  @Test("A log has the changes, and a future without a log describes nothing")
  func logs() throws {
    worker.describe(promise)
    promise.activityChanged()
    expectEqual(worker.count.value, 0)
    let log = FutureLog(clock: ManualClock())
    _ = promise.future.named("load").logged(in: log)

    promise.activityChanged()
    worker.phase.value = ""
    promise.activityChanged()
    worker.phase.value = "waiting\nfor the response"
    promise.activityChanged()
    promise.succeed(1)
    promise.activityChanged()

    expectEqual(
      log.recording().events.map(\.fact),
      [.joined, .activity("connecting"), .activity("waiting\nfor the response"), .succeeded])
    expectEqual(log.text().split(separator: "\n").count, 4)
  }
}
