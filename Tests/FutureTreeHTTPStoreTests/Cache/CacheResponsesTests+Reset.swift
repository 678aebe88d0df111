import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

extension CacheResponsesTests {
  @Test("A reset removes all responses, and loads from before it store nothing")
  func reset() {
    let below = HeldResets()
    below.mock.answer(headers: Self.fresh)
    let chain = api.layer --> below
    _ = chain.load(anyRequest("/a"))
    let held = below.mock.hold()
    let load = chain.load(anyRequest("/b"))

    let reset = chain.reset()
    expectEqual(api.cache.count, 1)
    #expect(reset.outcomeIfCompleted == nil)
    held.answer(headers: Self.fresh)
    below.endReset()

    expectEqual(reset.text, "success")
    expectEqual(load.text, "success")
    expectEqual(api.cache.count, 0)
  }

  @Test("A response that is stored while the next loader is reset is removed")
  func resetTwice() {
    let below = HeldResets()
    below.mock.answer(headers: Self.fresh)
    let chain = api.layer --> below

    let reset = chain.reset()
    _ = chain.load(anyRequest())
    expectEqual(api.cache.count, 1)
    below.endReset()

    expectEqual(reset.text, "success")
    expectEqual(api.cache.count, 0)
  }

  @Test("After a reset, no request joins an earlier load")
  func noJoin() {
    let held = [api.mock.hold(), api.mock.hold()]
    let old = api.start()
    api.chain.reset()
    let new = api.start()

    held[0].answer(headers: Self.fresh, body: "old")
    held[1].answer(headers: Self.fresh, body: "new")

    expectEqual(old.text, "success")
    expectEqual(new.text, "success")
    expectEqual(api.sentCount, 2)
  }

  @Test("A reset cancels a validation in the background, and waits for it")
  func resetRefresh() {
    api.answer("one", [("Cache-Control", "max-age=10, stale-while-revalidate=60")])
    api.load()
    api.clock.advance(by: .seconds(20))
    let held = api.mock.hold()
    api.load()

    let reset = (api.layer --> MockLoader()).reset()
    #expect(held.cancelRequest != nil && reset.outcomeIfCompleted == nil)
    held.complete(.cancelled)

    expectEqual(reset.text, "success")
    expectEqual(api.cache.count, 0)
  }

  @Test("A cancelled caller does not end a validation in the background")
  func refreshSurvives() {
    api.answer("one", [("Cache-Control", "max-age=10, stale-while-revalidate=60")])
    api.load()
    api.clock.advance(by: .seconds(20))
    let held = api.mock.hold()

    api.start().cancel(.forceImmediately)

    #expect(held.cancelRequest == nil)
    held.answer(headers: Self.fresh, body: "two")
    expectEqual(api.load().summary, "200 two|hit; ttl=60")
  }

  @Test("A validation in the background has neither the deadline nor the delivery of its request")
  func refreshOptions() {
    api.answer("one", [("Cache-Control", "max-age=10, stale-while-revalidate=60")])
    api.load()
    api.clock.advance(by: .seconds(20))
    let held = api.mock.hold()
    var request = anyRequest()
    request.deadline = .after(.seconds(1), clock: api.clock)
    request.delivery = .stream()

    let stale = api.chain.load(request).outcomeIfCompleted.flatMap { try? $0.get() }
    api.clock.advance(by: .seconds(5))

    expectEqual(stale.summary, "200 one|hit; ttl=-10")
    #expect(held.cancelRequest == nil)
    expectEqual(held.request?.delivery.isStream, false)
  }

  @Test("A stored response that is larger than the request accepts is not used")
  func maximumSize() {
    api.answer("12345", [("Cache-Control", "max-age=60"), ("ETag", "\"a\"")])
    api.load()
    api.answer("12345", [("Cache-Control", "max-age=60")])
    var request = anyRequest()
    request.delivery = .buffered(maximumSize: 4)

    // A transport fails with the code `bodyTooLarge`. The mock has no limit.
    _ = api.chain.load(request)
    #expect(api.sentCount == 2 && api.mock.requests[1].headers.isEmpty)
    request.delivery = .buffered(maximumSize: 5)
    _ = api.chain.load(request)

    expectEqual(api.sentCount, 2)
  }
}
