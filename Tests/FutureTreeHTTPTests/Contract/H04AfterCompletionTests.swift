import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import Testing

@Suite("H4: after completion nothing is tried, written or held")
struct H04AfterCompletionTests {
  /// Something whose life can be watched.
  private final class Held: Sendable {}

  private let mock = MockLoader()

  @Test("all handlers are released, and with them what they hold", arguments: [true, false])
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
      #expect(load.text == (isCancelled ? "cancelled" : "success"))
    }

    #expect(held == nil)
  }

  @Test("a load that was cancelled by force writes nothing when its answer comes late")
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

    #expect(load.text == "cancelled" && written.value == 0)
  }

  @Test("a request to cancel that comes after the end is too late, and reaches nobody")
  func tooLate() {
    let held = mock.hold()
    let load = (Autocancel() --> mock).load(anyRequest())
    held.answer()

    let receipt = load.cancel(.forceImmediately)

    #expect(receipt.effect == .tooLate(.succeeded) && load.text == "success" && mock.cancelRequests.isEmpty)
  }
}
