import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import TestSupport
import Testing

/// The code of the landing page, word for word. `HTTPTestingGuideTests` compares the two.
@Suite("Guide: FutureTreeHTTPTesting")
struct FutureTreeHTTPTestingGuideSnippets {
  private let print = Transcript()
  private let mock = MockLoader()
  private let clock = ManualClock()

  private var api: any HTTPLoader { mock }

  @Test("The first example")
  func example() throws {
    let request = try HTTPRequest("http://example.com/feed")

    // guide example
    let held = mock.hold("/feed")
    let feed = api.load(request).timeout(after: .seconds(10), clock: clock)

    clock.advance(by: .seconds(10))
    feed.onFailure { print($0 is TimeoutError) }  // true
    print(held.cancelRequest?.reason.message ?? "not asked")  // timed out after 10 s
    // end

    #expect(print.lines == ["true", "timed out after 10 s"])
  }
}
