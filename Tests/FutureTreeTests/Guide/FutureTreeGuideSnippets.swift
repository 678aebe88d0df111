import FutureTree
import TestSupport
import Testing

/// The code of the landing page, word for word. `GuideTests` compares the two.
@Suite("Guide: FutureTree")
struct FutureTreeGuideSnippets {
  private let print = Transcript()
  private let downloads = Locked<[Promise<String>]>([])

  private func download(_ page: String) -> Future<String> {
    let promise = Promise<String>()
    promise.onRequestCancel { _ in .complete(.cancelled) }
    downloads.withLock { $0.append(promise) }
    return promise.future
  }

  @Test("The first example")
  func tenLines() {
    // guide example
    let user = download("/user").named("user")
    let posts = user.onSuccess { user in download("/posts/\(user)") }.named("posts")
    let badge = user.map { user in "Hello, \(user)" }.named("badge")

    print(posts.tree())
    print(posts.cancel(.doNotForwardIfOthersWaiting, reason: "the tab was closed"))
    // withheld by 1 other consumer, reached 2 futures
    print(badge.isCompleted)  // false; the download continues for it
    print(badge.cancel(.doNotForwardIfOthersWaiting))  // delivered to 1 handler, reached 2 futures
    badge.observe { print($0.ending) }  // cancelled
    // end

    #expect(
      print.lines == [
        """
        user      pending, 2 consumers
        ├─ posts  pending  ← here
        └─ badge  pending
        """,
        "withheld by 1 other consumer, reached 2 futures", "false", "delivered to 1 handler, reached 2 futures",
        "cancelled",
      ])
  }
}
