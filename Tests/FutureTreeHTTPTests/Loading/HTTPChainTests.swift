import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import TestSupport
import Testing

@Suite("Chains") struct HTTPChainTests {
  /// Writes its name into a header, which shows the order of a chain.
  private struct Stamp: HTTPLayer {
    let name: String

    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      var request = request
      do { try request.addHeader("X-Stamp", name) } catch { return .failed(error) }
      return next.load(request)
    }
  }

  /// Counts its resets.
  private final class Counting: HTTPLayer {
    let resets = Locked(0)

    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> { next.load(request) }

    func wipe(_ notes: ResetNotes) -> Future<Void> {
      resets.withLock { $0 += 1 }
      return .succeeded
    }
  }

  private let mock = MockLoader()

  private func stamps() -> [String] { mock.requests.flatMap { $0.headers.values(for: "X-Stamp") } }

  @Test("A chain passes a request from left to right")
  func order() throws {
    let api = Stamp(name: "a") --> Stamp(name: "b") --> Stamp(name: "c") --> mock
    mock.answer()

    let future = api.load(try HTTPRequest("http://example.com/"))

    expectEqual(future.outcomeIfCompleted?.ending, .succeeded)
    expectEqual(stamps(), ["a", "b", "c"])
  }

  @Test("Joined layers are a layer, which can be used with several loaders")
  func layers() throws {
    let front: any HTTPLayer = Stamp(name: "a") --> Stamp(name: "b")
    let others = MockLoader()
    mock.answer()
    others.answer()

    for loader in [mock, others] { _ = (front --> loader).load(try HTTPRequest("http://example.com/")) }

    expectEqual(stamps(), ["a", "b"])
    expectEqual(others.requests[0].headers.values(for: "X-Stamp"), ["a", "b"])
  }

  @Test("An optional layer may be absent", arguments: [true, false])
  func optional(isPresent: Bool) throws {
    let optional: Stamp? = isPresent ? Stamp(name: "a") : nil
    let api = optional --> Stamp(name: "b") --> mock
    let front: any HTTPLayer = optional --> Stamp(name: "c")
    mock.answer()
    mock.answer()

    _ = api.load(try HTTPRequest("http://example.com/"))
    _ = (front --> mock).load(try HTTPRequest("http://example.com/"))

    expectEqual(stamps(), isPresent ? ["a", "b", "a", "c"] : ["b", "c"])
  }

  @Test("The text of a chain has the types of its layers and of its end")
  func description() {
    let front: any HTTPLayer = Stamp(name: "secret") --> Counting()

    expectEqual("\(front --> Retry() --> mock)", "Stamp --> Counting --> Retry --> MockLoader")
    expectEqual("\(Stamp(name: "secret") --> Constant())", "Stamp --> Constant")
  }

  /// A loader that is a value.
  private struct Constant: HTTPLoader {
    func load(_ request: HTTPRequest) -> Future<HTTPResponse> { .cancelled("not used") }
    func reset() -> Future<Void> { .succeeded }
  }

  @Test("A reset passes through every layer to the end, once")
  func reset() throws {
    let layers = [Counting(), Counting()]
    let api = layers[0] --> Stamp(name: "a") --> layers[1] --> mock

    let future = api.reset()

    expectEqual(future.outcomeIfCompleted?.ending, .succeeded)
    expectEqual(layers.map { $0.resets.value }, [1, 1])
  }

  @Test("A cancellation request passes through layers that derive futures")
  func cancel() throws {
    struct Deriving: HTTPLayer {
      func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
        next.load(request).map { $0 }
      }
    }
    let held = mock.hold()
    let future = (Deriving() --> Deriving() --> mock).load(try HTTPRequest("http://example.com/"))

    future.cancel(reason: "enough")
    held.complete(.cancelled)

    expectEqual(mock.cancelRequests.map(\.reason.message), ["enough"])
    expectEqual(future.outcomeIfCompleted?.ending, .cancelled)
  }

  @Test("One request loaded twice is two executions: cancelling one leaves the other in flight")
  func twice() throws {
    let request = try HTTPRequest("http://example.com/")
    let held = [mock.hold(), mock.hold()]
    let futures = [mock.load(request), mock.load(request)]

    futures[0].cancel()
    held[0].complete(.cancelled)
    held[1].answer()

    expectEqual(futures.map { $0.outcomeIfCompleted?.ending }, [.cancelled, .succeeded])
  }
}
