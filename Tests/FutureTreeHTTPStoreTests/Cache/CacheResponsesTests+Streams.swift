import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

extension CacheResponsesTests {
  private func stream(_ held: HeldStream) async throws -> HTTPBodyStream {
    var request = anyRequest()
    request.delivery = .stream()
    return try await api.chain.load(request).value.bodyStream
  }

  @Test("A stream is stored while it flows, and is in the cache when it is whole")
  func streamed() async throws {
    let held = api.mock.stream(headers: Self.fresh)
    let body = try await stream(held)

    held.send("one ")
    expectEqual(api.cache.count, 0)
    held.send("two")
    held.finish()
    var text = Data()
    for try await chunk in body { text += chunk }

    expectEqual(String(decoding: text, as: UTF8.self), "one two")
    expectEqual(api.load().summary, "200 one two|hit; ttl=60")
    #expect(try await stream(held).reduce(into: Data()) { $0 += $1 } == text && api.sentCount == 1)
  }

  @Test("A stream that fails or is cancelled is not stored", arguments: [true, false])
  func cutStream(isCancelled: Bool) async throws {
    let held = api.mock.stream(headers: Self.fresh)
    let body = try await stream(held)
    held.send("one")

    if isCancelled {
      body.transfer.cancel()
      held.completeCancelled()
    } else {
      held.fail(Oops())
    }

    #expect(body.transfer.outcomeIfCompleted != nil)
    expectEqual(api.cache.count, 0)
  }

  @Test("A stream that is larger than the limit is delivered, and not stored")
  func longStream() async throws {
    let api = CachedAPI(HTTPCache.Limits(perEntry: 10))
    let held = api.mock.stream(headers: Self.fresh)
    var request = anyRequest()
    request.delivery = .stream()
    let body = try await api.chain.load(request).value.bodyStream
    for _ in 0..<4 { held.send("12345") }
    held.finish()

    #expect(try await body.reduce(into: Data()) { $0 += $1 }.count == 20 && api.cache.count == 0)
  }

  @Test("A stream from before a reset is not stored")
  func streamAfterReset() async throws {
    let held = api.mock.stream(headers: Self.fresh)
    let body = try await stream(held)
    held.send("one")
    api.cache.removeAll()
    held.finish()

    #expect(try await body.reduce(into: Data()) { $0 += $1 }.count == 3 && api.cache.count == 0)
  }

  @Test("A request whose body is delivered into a file is sent, and not stored")
  func file() throws {
    let folder = try Folder()
    api.answer("one", [("Cache-Control", "max-age=60")])
    var request = anyRequest()
    request.delivery = .file(folder.file("body"))

    let response = api.chain.load(request).outcomeIfCompleted.flatMap { try? $0.get() }

    expectEqual(response.summary, "200 no body|fwd=bypass; fwd-status=200")
    expectEqual(api.cache.count, 0)
  }
}
