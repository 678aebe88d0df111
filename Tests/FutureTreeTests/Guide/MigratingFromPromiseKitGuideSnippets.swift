import FutureTree
import TestSupport
import Testing

/// The code of the guide *Migrating from PromiseKit*, word for word. `GuideTests` compares the two.
@Suite("Guide: Migrating from PromiseKit")
struct MigratingFromPromiseKitGuideSnippets {
  private let print = Transcript()
  private let client = PageClient()

  @Test("A cancelled chain")
  func chain() {
    // guide chain
    let comments = load("/user")  // firstly
      .onSuccess { user in load("/comments/\(user)") }  // then
      .map { $0.split(separator: ",").count }  // map
      .ensure { print("no longer loading") }  // no longer loading; ensure
      .onFailure { show($0) }  // catch
    client.answer("/user", "ada")

    print(comments.cancel(reason: "the page was closed"))  // delivered to 1 handler, reached 5 futures
    comments.onCancel { print($0.message) }  // the page was closed; not in PromiseKit
    // end

    #expect(
      print.lines == [
        "no longer loading", "delivered to 1 handler, reached 5 futures", "the page was closed",
      ])
    #expect(client.stopped == ["/comments/ada"])
  }

  @Sendable private func show(_ error: any Error) {
    print("failed: \(error)")
  }

  private func load(_ path: String) -> Future<String> {
    let promise = Promise<String>()
    let call = client.get(path) { text, _ in
      if let text { promise.succeed(text) }
    }
    promise.onRequestCancel { _ in
      call.stop()
      return .complete(.cancelled)
    }
    return promise.future
  }
}
