import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("H3: known before handled", .tags(.h03))
struct H03KnownBeforeHandlersTests {
  /// Records the future of each load, and logs its end.
  private struct Noting: HTTPLayer {
    let name: String
    let futures: Locked<[Future<HTTPResponse>]>
    let log: Recorder

    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      let future = next.load(request).ensure { log("\(name) ends") }
      futures.withLock { $0.append(future) }
      return future
    }
  }

  /// A transport that logs which layers know of a request when its handler runs.
  private struct Transport: HTTPLoader {
    let futures: Locked<[Future<HTTPResponse>]>
    let log: Recorder
    let completion: Completion<HTTPResponse>

    func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
      let promise = Promise<HTTPResponse>()
      promise.onRequestCancel { _ in
        let know = futures.value.map { $0.cancelRequest != nil }
        log("the transport is asked; layers know: \(know)")
        return .complete(completion)
      }
      promise.future.observe { _ in withExtendedLifetime(promise) {} }
      return promise.future
    }

    func reset() -> Future<Void> { .succeeded(()) }
  }

  @Test(
    "All layers know of a request before the transport handles it, and end from the transport outward",
    arguments: [Completion<HTTPResponse>.cancelled, .failure(Oops())])
  func order(completion: Completion<HTTPResponse>) {
    let (log, futures) = (Recorder(), Locked<[Future<HTTPResponse>]>([]))
    let layers = ["outer", "middle", "inner"].map { Noting(name: $0, futures: futures, log: log) }
    let api =
      layers[0] --> Autocancel() --> layers[1] --> layers[2]
      --> Transport(futures: futures, log: log, completion: completion)

    let load = api.load(anyRequest())
    load.cancel()

    expectEqual(
      log.entries,
      [
        "the transport is asked; layers know: [true, true, true]", "inner ends", "middle ends", "outer ends",
      ])
    #expect(load.isCompleted)
  }

  @Test("A retrying layer does not retry a failure that follows a cancellation request")
  func noRetry() {
    struct Again: HTTPLayer {
      func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
        next.load(request).recoverWith { _ in next.load(request) }
      }
    }
    let mock = MockLoader()
    let held = mock.hold()
    let load = (Again() --> mock).load(anyRequest())

    load.cancel()
    held.complete(.failure(HTTPError(.connectionLost, "the transport reports a cancellation like this")))

    expectEqual(load.text, "connectionLost")
    expectEqual(mock.requests.count, 1)
  }
}
