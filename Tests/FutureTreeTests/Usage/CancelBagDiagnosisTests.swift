#if DEBUG
  import Foundation
  import FutureTree
  import TestSupport
  import Testing

  /// Each in a process of its own, whose standard error is read.
  @Suite("The message of a deallocated cancel bag", .timeLimit(.minutes(5)))
  struct CancelBagDiagnosisTests {
    private func messages(_ run: ExitTest.Result?) -> [String] {
      String(decoding: run?.standardErrorContent ?? [], as: UTF8.self).split(separator: "\n").map(String.init)
        .filter { $0.hasPrefix("FutureTree: ") }
    }

    @Test("It names the future and what was derived from it, when nothing else keeps the work")
    func printed() async {
      let run = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        let promise = Promise<Int>()
        let feed = promise.future.named("feed")
        var bag: CancelBag? = CancelBag()
        feed.store(in: bag!)
        feed.map { $0 }
        feed.map { $0 }.map { $0 }.named("page")
        bag = nil
        #expect(promise.cancelRequest == nil)
      }
      expectEqual(
        messages(run),
        [
          #"FutureTree: a deallocated CancelBag did not cancel "feed", because "map", "page" are derived from it "#
            + "and not in the bag. Store the last future of each chain in the bag."
        ])
    }

    @Test("Nothing is printed for work that is stopped, is over, or that others wait for")
    func silent() async {
      let run = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        let promises = (0..<4).map { _ in Promise<Int>() }
        promises[3].succeed(1)
        let futures = promises.map(\.future)
        let other = CancelBag()
        var bag: CancelBag? = CancelBag()
        for future in futures { future.store(in: bag!) }
        futures[0].map { $0 }.store(in: bag!)
        futures[1].map { $0 }.store(in: other)
        futures[2].map { $0 }
        let token = futures[2].cancelToken()
        bag = nil
        expectEqual(promises.map { $0.cancelRequest == nil }, [false, true, true, true])
        withExtendedLifetime((other, token)) {}
      }
      expectEqual(messages(run), [])
    }
  }
#endif
