import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

/// The transcript of the layers of the article.
private let print = Transcript()

/// The code of the article *Writing a layer*, word for word. `HTTPGuideTests` compares the two.
@Suite("Guide: Writing a layer", .serialized)
struct WritingALayerGuideSnippets {
  private let mock = MockLoader()
  private let request = anyRequest("/feed")

  private struct Teapot: Error {}

  // guide pass
  struct PassThrough: HTTPLayer {
    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      print("→ \(request)")
      let response = next.load(request)
      response.observe { outcome in print("← \(outcome.ending)") }
      return response
    }
  }
  // end

  // guide answer
  struct RefuseTeapots: HTTPLayer {
    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      next.load(request).map { response in
        guard response.status.code != 418 else { throw Teapot() }
        return response
      }
    }
  }
  // end

  final class Gauge: Sendable {
    private let count = Locked(0)

    var value: Int { count.value }

    func increment() { count.withLock { $0 += 1 } }

    func decrement() { count.withLock { $0 -= 1 } }
  }

  // guide transfer
  struct CountInFlight: HTTPLayer {
    let gauge: Gauge

    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      gauge.increment()
      let future = next.load(request)
      future.observeTransfer { [gauge] outcome, transfer in gauge.decrement() }
      return future
    }
  }
  // end

  // guide hold
  struct Slow: HTTPLayer {
    let clock: any FutureClock

    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      Future.after(.seconds(1), clock: self.clock).flatMap { next.load(request) }
    }
  }
  // end

  @Test("A layer that passes loads through prints them and changes nothing")
  func passThrough() {
    mock.answer()
    let held = mock.hold()
    let api = PassThrough() --> mock

    let loads = [api.load(request), api.load(request)]
    loads[1].cancel(.doNotForwardIfOthersWaiting)
    held.complete(.cancelled)

    #expect(
      print.lines == [
        "→ GET http://example.com/feed", "← succeeded", "→ GET http://example.com/feed", "← cancelled",
      ])
    #expect(loads.map(\.text) == ["success", "cancelled"] && api.reset().text == "success")
  }

  @Test("A layer that changes responses runs no body for a cancelled load")
  func changesAnswer() {
    let api = RefuseTeapots() --> mock
    mock.answer(status: HTTPStatus(418))
    let held = mock.hold()
    let loads = [api.load(request), api.load(request)]

    loads[1].cancel()
    held.answer(status: HTTPStatus(418))

    #expect(loads.map(\.text) == ["Teapot()", "cancelled"])
  }

  @Test("A layer that delays requests sends no cancelled request")
  func holdsBack() {
    let clock = ManualClock()
    let api = Slow(clock: clock) --> mock
    mock.answer()
    let loads = [api.load(request), api.load(request)]

    loads[0].cancel()
    #expect(loads.map(\.text) == ["cancelled", "pending"] && clock.timerCount == 1)
    clock.advance(by: .seconds(1))

    #expect(loads[1].text == "success" && mock.requests.count == 1)
  }

  @Test("A layer frees what it holds when the load has ended, and a stream when its transfer has completed")
  func heldUntilTheTransfer() async throws {
    let gauge = Gauge()
    let api = CountInFlight(gauge: gauge) --> mock
    mock.answer()
    let (held, body) = (mock.hold(), mock.stream())

    let loads = [api.load(request), api.load(request)]
    #expect(loads[0].text == "success" && gauge.value == 1)
    held.complete(.cancelled)
    #expect(loads[1].text == "cancelled" && gauge.value == 0)

    _ = try await api.stream { request }.value
    #expect(body.cancelRequest != nil && gauge.value == 1)  // The response was dropped.
    body.completeCancelled()
    #expect(gauge.value == 0)
  }
}
