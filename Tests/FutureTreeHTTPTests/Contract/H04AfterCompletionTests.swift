import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("H4: nothing after completion", .tags(.h04))
struct H04AfterCompletionTests {
  /// An object whose lifetime the test observes.
  private final class Held: Sendable {}

  private let mock = MockLoader()

  @Test("A completed load releases its handlers and their captures", arguments: [true, false])
  func released(isCancelled: Bool) {
    let gate = Promise<Void>()
    weak var held: Held?
    do {
      let object = Held()
      held = object
      let layer = ModifyRequest.deferred { [object] request in
        let promise = Promise<HTTPRequest>()
        promise.onRequestCancel { _ in
          withExtendedLifetime(object) {}
          return .complete(.cancelled)
        }
        return gate.future.flatMap {
          promise.succeed(request)
          return promise.future
        }
      }
      mock.answer()
      let load = (ResetGuard() --> Autocancel() --> layer --> mock).load(anyRequest())
      if isCancelled { load.cancel() }
      gate.succeed()
      expectEqual(load.text, isCancelled ? "cancelled" : "success")
    }

    #expect(held == nil)
  }

  @Test("A load that is cancelled by force writes nothing when its response arrives")
  func writesNothing() {
    let written = Locked(0)
    struct Storing: HTTPLayer {
      let written: Locked<Int>
      func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
        next.load(request).map { response in
          written.withLock { $0 += 1 }
          return response
        }
      }
    }
    let held = mock.hold()
    let load = (Storing(written: written) --> mock).load(anyRequest())

    load.cancel(.forceImmediately)
    held.answer()

    expectEqual(load.text, "cancelled")
    expectEqual(written.value, 0)
  }

  @Test("A cancellation request after completion is too late and reaches no handler")
  func tooLate() {
    let held = mock.hold()
    let load = (Autocancel() --> mock).load(anyRequest())
    held.answer()

    let receipt = load.cancel(.forceImmediately)

    expectEqual(receipt.effect, .tooLate(.succeeded))
    expectEqual(load.text, "success")
    #expect(mock.cancelRequests.isEmpty)
  }
}
