import FutureTree
import TestSupport
import Testing

@Suite("Law 22: ordering is not interest", .tags(.law22))
struct Law22OrderingIsNotInterestTests {
  private let log = Recorder()
  private let queue = FutureQueue()

  private static let everyOption: [CancellationOptions] = [
    [], .doNotForwardRequest, .doNotForwardIfOthersWaiting, .forceImmediately,
  ]

  private func add(_ promise: Promise<Int>) -> Future<Int> {
    queue.add { promise.future }
  }

  @Test("A queued item is not a consumer of the running item")
  func isNoConsumer() {
    let running = source(log, "running")
    let first = add(running)
    let waiting = (0..<3).map { _ in add(Promise<Int>()) }

    let consumers = [running.future, first].map { $0.tree().entries.first(where: \.isMarked)?.consumers }

    expectEqual(consumers, [1, 0])  // The future of the item is one consumer of its source.
    withExtendedLifetime((running, waiting)) {}
  }

  @Test("A request to a queued item does not reach the running item", arguments: everyOption)
  func doesNotForward(options: CancellationOptions) {
    let running = source(log, "running")
    let first = add(running)
    let second = add(Promise<Int>())

    let receipt = second.cancel(options)

    expectEqual(receipt.reached, 1)
    expectEqual([first.state, second.state], ["pending", "cancelled"])
    expectEqual(log.entries, [])
    #expect(running.cancelRequest == nil)
  }

  @Test("A request to the running item is not withheld for queued items, and does not reach them")
  func isNotWithheld() {
    let running = source(log, "running")
    let first = add(running)
    let second = queue.add { .succeeded(2) }

    let receipt = first.cancel(.doNotForwardIfOthersWaiting)
    expectEqual(receipt.effect, .delivered)
    expectEqual(log.entries, ["running: ifOthers"])
    #expect(second.cancelRequest == nil)
    running.completeCancelled()

    expectEqual([first.state, second.state], ["cancelled", "success(2)"])
  }
}
