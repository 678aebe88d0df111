import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import TestSupport
import Testing

/// The code of the article, word for word. `HTTPGuideTests` compares the two.
@Suite("Guide: slow and failing servers")
struct SlowAndFailingServersGuideSnippets {
  private let print = Transcript()

  @Test("The chain of the three layers, and the state of a circuit")
  func chain() throws {
    let transport = MockLoader()
    transport.answer(body: "news")

    // guide chain
    let threshold = CircuitThreshold(rate: 0.5, of: 10, in: .seconds(30))
    let breaker = CircuitBreaker(threshold, openDuration: .seconds(20))
    let api = Retry() --> Hedge(after: .percentile(0.95)) --> breaker --> Throttle(4) --> transport
    let feed = api.load(try HTTPRequest("https://example.com/feed"))
    // end

    // guide state
    print(breaker.state(of: try HTTPURL("https://example.com")))  // closed
    // end

    #expect(print.lines == ["closed"] && feed.isCompleted)
  }
}
