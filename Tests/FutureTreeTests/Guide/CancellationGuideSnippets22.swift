#if FUTURE_QUEUE
  import FutureTree
  import Testing

  /// The code of the guide *Cancellation*, word for word. `GuideTests` compares the two.
  @Suite("Guide: Cancellation, law 22")
  struct CancellationGuideSnippets22 {
    private let print = Transcript()

    @Test("law 22")
    func law22() {
      // guide 22
      let (header, queue) = (Promise<String>(), FutureQueue())
      header.onRequestCancel { _ in .continue }
      let first = queue.add { header.future }
      let second = queue.add { Future.succeeded("body") }
      let third = queue.add { Future.succeeded("index") }

      print(first.previewCancel(.doNotForwardIfOthersWaiting))  // delivered to 1 handler, reached 2 futures
      second.cancel(reason: "no body")
      second.observe { print($0.ending) }  // cancelled
      print(header.cancelRequest == nil)  // true; what runs before it was not asked
      header.succeed("header")
      third.observe { print($0) }  // success("index")
      // end

      #expect(
        print.lines == ["delivered to 1 handler, reached 2 futures", "cancelled", "true", "success(\"index\")"])
    }
  }
#endif
