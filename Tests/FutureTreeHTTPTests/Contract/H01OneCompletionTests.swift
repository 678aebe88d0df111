import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

/// Debug builds also assert that no lock is held while user code runs: see `LockRule`.
@Suite("H1: completes once", .tags(.h01))
struct H01OneCompletionTests {
  private let mock = MockLoader()
  private let calls = Locked(0)

  private func chain(_ end: any HTTPLoader) -> any HTTPLoader {
    ResetGuard() --> Autocancel() --> Route(.when({ $0.path == "/a" }, Autocancel()))
      --> ModifyRequest.deferred { request in .succeeded(request) } --> end
  }

  @Test(
    "A load completes once, with the first completion of its transport",
    arguments: [Completion<HTTPResponse>.cancelled, .failure(Oops()), .completeUsing(.failed(Oops()))])
  func once(completion: Completion<HTTPResponse>) {
    let held = mock.hold()
    let load = chain(mock).load(anyRequest("/a"))
    load.observe { _ in calls.withLock { $0 += 1 } }

    load.cancel()
    let isFirst = [held.complete(completion), held.answer(), held.complete(.cancelled)]

    expectEqual(isFirst, [true, false, false])
    expectEqual(calls.value, 1)
    #expect(load.isCompleted)
  }

  @Test("A promise that the transport drops fails the load")
  func dropped() {
    struct Forgetful: HTTPLoader {
      func load(_ request: HTTPRequest) -> Future<HTTPResponse> { Promise<HTTPResponse>().future }
      func reset() -> Future<Void> { Promise<Void>().future }
    }
    let api = chain(Forgetful())

    let load = api.load(anyRequest())

    expectEqual(load.outcomeIfCompleted?.ending, .failed)
    expectEqual(api.reset().outcomeIfCompleted?.ending, .failed)
    #expect(api.load(anyRequest()).text != "resetInProgress")
  }

  @Test("Callbacks may load, cancel and reset")
  func reentrant() {
    let api = Locked<(any HTTPLoader)?>(nil)
    let again = Locked(3)
    let modify = ModifyRequest { [calls] request in
      let request = request
      calls.withLock { $0 += 1 }
      let goesOn = again.withLock { left in
        left -= 1
        return left > 0
      }
      guard goesOn else { return }
      api.value?.load(request).cancel()
      api.value?.reset().cancel()
    }
    api.value = (ResetGuard() --> Autocancel() --> modify --> mock)
    for _ in 0..<3 { mock.answer() }

    let load = api.value!.load(anyRequest())
    load.observe { _ in
      _ = api.value?.reset()
      _ = api.value?.load(anyRequest())
    }

    #expect(load.isCompleted && calls.value >= 2)
    api.value = nil
  }
}
