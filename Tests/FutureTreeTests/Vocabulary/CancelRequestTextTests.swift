import FutureTree
import TestSupport
import Testing

@Suite("Text of a cancellation request")
struct CancelRequestTextTests {
  private let reason = CancellationReason("the tab was closed", fileID: "App/Tab.swift", line: 7)

  private func request(_ options: CancellationOptions) throws -> CancelRequest {
    let promise = Promise<Int>()
    promise.future.cancel(options, reason: reason)
    return try #require(promise.cancelRequest)
  }

  @Test("A request prints its options and its reason, not its storage")
  func description() throws {
    let text = "request to cancel [doNotForwardRequest]: the tab was closed (App/Tab.swift:7)"
    let request = try request(.doNotForwardRequest)

    expectEqual("\(request)", text)
    expectEqual(String(reflecting: request), text)
    expectEqual("\(try self.request([]))", "request to cancel: the tab was closed (App/Tab.swift:7)")
  }

  @Test("The mirror of a request has its options and its reason")
  func mirror() throws {
    let children = Array(Mirror(reflecting: try request(.forceImmediately)).children)

    expectEqual(children.map(\.label), ["options", "reason"])
    expectEqual(children[0].value as? CancellationOptions, .forceImmediately)
    expectEqual(children[1].value as? CancellationReason, reason)
    expectEqual(Mirror(reflecting: reason).children.map(\.label), ["message", "kind", "fileID", "line"])
  }

  @Test("The request that a handler receives prints as the request")
  func received() {
    let promise = Promise<Int>()
    promise.onRequestCancel { request in
      expectEqual("\(request)", "request to cancel: the tab was closed (App/Tab.swift:7)")
      expectEqual(Mirror(reflecting: request).children.map(\.label), ["options", "reason"])
      return .complete(.cancelled)
    }

    promise.future.cancel(reason: reason)

    #expect(promise.future.isCompleted)
  }
}
