import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import Testing

/// The code of the landing page, word for word. `HTTPStoreGuideTests` compares the two.
@Suite("Guide: FutureTreeHTTPStore") struct FutureTreeHTTPStoreGuideSnippets {
  @Test("The first example")
  func example() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }

    @Sendable func log(_ fault: HTTPError) { Issue.record(fault) }

    // guide example
    let cookies = CookieJar(file: folder.appending(path: "cookies")) { fault in log(fault) }
    let cache = try HTTPCache(directory: folder.appending(path: "responses")) { fault in log(fault) }
    let api =
      ResetGuard() --> Autocancel() --> Resume() --> Redirect() --> StoreCookies(in: cookies)
      --> CacheResponses(in: cache) --> SystemLoader()
    // end

    cookies.store("session=1", from: try HTTPURL("https://example.com/"))
    try await api.reset().value
    #expect(cookies.cookies.isEmpty && cache.count == 0)
  }
}
