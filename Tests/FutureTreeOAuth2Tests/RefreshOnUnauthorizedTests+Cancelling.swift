import Dispatch
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeOAuth2

/// Cancellation and resets of loads and of the refresh.
extension RefreshOnUnauthorizedTests {
  @Test("A waiting load is cancelled at once, and the others get the token")
  func cancelOne() {
    reject("a1")
    let refresh = mock.hold("/refresh")
    mock.onOthers(.status(.ok))
    let layer = refreshing()
    let loads = (0..<2).map { (layer --> mock).load(request("/\($0)")) }

    loads[0].cancel()
    expectEqual(loads.map(\.text), ["cancelled", "pending"])
    #expect(refresh.cancelRequest == nil)
    refresh.answer(.text("a2"))

    #expect(loads[1].status == "200" && sent == ["/0 a1", "/refresh", "/1 a2"] && layer.isIdle)
  }

  @Test("The refresh continues after all waiting loads are cancelled, and its token is used")
  func cancelAll() {
    reject("a1")
    let refresh = mock.hold("/refresh")
    mock.onOthers(.status(.ok))
    let layer = refreshing()
    let loads = (0..<2).map { (layer --> mock).load(request("/\($0)")) }

    for load in loads { load.cancel() }
    #expect(refresh.cancelRequest == nil)
    expectEqual(loads.map(\.text), ["cancelled", "cancelled"])
    let next = (layer --> mock).load(request("/next"))
    refresh.answer(.text("a2"))

    expectEqual(next.status, "200")
    expectEqual(layer.token, Self.token("a2"))
    expectEqual(changes.value, ["a2"])
    #expect(layer.isIdle)
  }

  @Test("A load cancelled before its 401 is not sent again and starts no refresh")
  func cancelledBefore() {
    let held = mock.hold("/x")
    let load = (refreshing() --> mock).load(request("/x"))

    load.cancel()
    held.answer(.status(.unauthorized))

    #expect(load.isCompleted)
    expectEqual(sent, ["/x a1"])
  }

  @Test("A reset cancels waiting loads, awaits the refresh, and discards both tokens")
  func reset() {
    reject("a1")
    let refresh = mock.hold("/refresh")
    mock.onOthers(.status(.ok))
    let layer = refreshing()
    let load = (layer --> mock).load(request("/x"))

    let reset = (layer --> MockLoader()).reset()
    expectEqual(load.text, "cancelled")
    #expect(refresh.cancelRequest != nil)
    #expect(!reset.isCompleted)
    refresh.answer(.text("a2"))

    #expect(changes.value == [nil] && layer.token == nil && layer.isIdle)
    #expect((layer --> mock).load(request("/y")).status == "200")
    expectEqual(sent.last, "/y")
  }

  @Test("A 401 after a reset is the response")
  func lateRejection() {
    let held = mock.hold("/x")
    let layer = refreshing()
    let load = (layer --> mock).load(request("/x"))

    _ = (layer --> MockLoader()).reset()
    held.answer(.status(.unauthorized))

    #expect(load.isCompleted && load.text != "pending" && sent == ["/x a1"] && changes.value == [nil])
  }

  @Test("A token from a login replaces the refresh in flight")
  func replaced() {
    reject("a1")
    let refresh = mock.hold("/refresh")
    mock.onOthers(.status(.ok))
    let layer = refreshing()
    let load = (layer --> mock).load(request("/x"))

    let replacement = layer.replaceToken(with: Self.token("b1"))
    #expect(refresh.cancelRequest != nil)
    refresh.complete(.cancelled)

    expectEqual(replacement.text, "success")
    expectEqual(load.status, "200")
    expectEqual(sent.last, "/x b1")
    expectEqual(changes.value, ["b1"])
  }

  @Test("Rejections on many threads make one refresh")
  func threads() {
    reject("a1")
    let refresh = mock.hold("/refresh")
    mock.onOthers(.status(.ok))
    let layer = refreshing()
    let loads = Locked<[Future<HTTPResponse>]>([])

    DispatchQueue.concurrentPerform(iterations: 100) { number in
      let load = (layer --> mock).load(request("/\(number)"))
      loads.withLock { $0.append(load) }
    }
    refresh.answer(.text("a2"))

    #expect(loads.value.allSatisfy { $0.status == "200" })
    expectEqual(sent.filter { $0 == "/refresh" }.count, 1)
    #expect(layer.isIdle)
  }
}
