import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("H13: tolerant reading, by caches and cookies", .tags(.h13)) struct H13StoreTests {
  @Test("The fields of a change remove the cached responses at the URLs that browsers read")
  func invalidation() {
    let api = CachedAPI()
    api.answer("old", [("Cache-Control", "max-age=60")])
    api.load("/my%20file")
    api.answer("changed", [("Content-Location", "/my file")])
    api.load("/", method: .post)
    api.answer("new")

    expectEqual(api.load("/my%20file").flatMap { try? $0.body }, Data("new".utf8))
  }

  @Test("A response is fresh until the date that the server sent, in each of its forms", arguments: formsOfDate)
  func expires(text: String) {
    let api = CachedAPI(HTTPCache(date: WallClock { Date(timeIntervalSince1970: 1_698_832_800) }), ManualClock())
    api.answer("old", [("Expires", text)])
    api.load()

    expectEqual(api.load()?.headers["Age"], "0")
  }

  @Test("A response with an `Expires` that cannot be read is stale", arguments: ["0", "-1", "never", ""])
  func stale(text: String) {
    let api = CachedAPI()
    api.answer("old", [("Expires", text)])
    api.load()
    api.answer("new")

    expectEqual(api.load().flatMap { try? $0.body }, Data("new".utf8))
  }

  @Test("An invalid `Max-Age` of a cookie is ignored", arguments: ["-", "", "+5", "1.5", "x", "-x", "--1"])
  func maxAge(value: String) throws {
    let jar = CookieJar(date: WallClock { Date(timeIntervalSince1970: 0) })
    let url = try HTTPURL("https://example.com/")

    let isStored = jar.store("a=1; Max-Age=\(value)", from: url)

    #expect(isStored)
    expectEqual(jar.cookies.map(\.name), ["a"])
  }
}
