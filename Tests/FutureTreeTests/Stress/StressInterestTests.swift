import FutureTree
import TestSupport
import Testing

@Suite("Stress: interest", .serialized)
struct StressInterestTests {
  /// A branch whose only token is dropped while another is created.
  private struct Branch: Sendable {
    let promise = Promise<Int>()
    let branch: Future<Int>
    let dropped: Locked<CancelToken?>
    let taken = Locked<CancelToken?>(nil)

    init() {
      branch = promise.future.map { $0 }
      dropped = Locked(branch.cancelToken())
    }
  }

  @Test("Drop a token ∥ create another: the source has a consumer in the end")
  func renewed() {
    race(rounds: StressTests.rounds) {
      Branch()
    } _: {
      [
        { $0.dropped.value = nil },
        { $0.taken.value = $0.branch.cancelToken() },
      ]
    } check: { round, _ in
      let receipt = round.promise.future.cancel(.doNotForwardIfOthersWaiting)
      expectEqual(receipt.effect, .withheld(by: 1))
      #expect(round.promise.cancelRequest == nil)
    }
  }
}
