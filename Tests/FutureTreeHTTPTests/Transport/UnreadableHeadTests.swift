import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

/// Row 36 of the article *URLSession on Linux*: legal and illegal bytes in the head of a response that end a transfer.
@Suite("Unreadable heads", .onSockets) struct UnreadableHeadTests {
  private let server: LoopbackServer
  private let loader = URLSessionLoader(.patient)

  init() throws {
    server = try Loopback.server()
  }

  private func answer(_ head: String, body: String = "ok") -> [UInt8] {
    // One byte for each scalar, so that \u{E9} is Latin-1. A symbol for NUL stands for NUL, because it can be printed.
    (head + "\r\nContent-Length: \(body.unicodeScalars.count)\r\n\r\n\(body)").unicodeScalars
      .map { UInt8(exactly: $0.value) ?? 0 }
  }

  #if canImport(FoundationNetworking)
    @Test(
      "A line with invalid UTF-8 or a malformed line is an invalid response, which is not retried",
      arguments: [
        "HTTP/1.1 200 OK\r\nX-A: caf\u{E9}", "HTTP/1.1 200 caf\u{E9}", "HTTP/1.1 200 OK\r\nX-\u{E9}: a",
        "HTTP/1.1 200 OK\r\nX-A : a", "HTTP/1.1 200 OK\r\n: a", "HTTP/1.1 200 OK\r\nX A: a",
        "HTTP/1.1 200 OK\r\nX-\u{C3}\u{A9}: a", "HTTP/1.1 200", "HTTP/1.1 200 OK\nX-A: a", "HTTP/1.1 200 OK\r\nX-A",
        "HTTP/1.1 200 OK\r\n folded", "HTTP/1.1 200 OK\r\nX-A: a␀b", "HTTP/1.1 200 OK\r\nContent-Length: two",
      ])
    func refused(head: String) async throws {
      server.on("/", [.send(answer(head)), .close])

      let outcome = await (Retry(.immediately()) --> loader).load(try HTTPRequest(server.url("/"))).outcome

      expectEqual(outcome.code, .invalidResponse)
      expectEqual(server.requestCount, 1)
    }
  #endif

  @Test("Invalid UTF-8 in the body is accepted, and UTF-8 in a field is delivered (H13, tolerant reading)")
  func accepted() async throws {
    server.on("/", .send(answer("HTTP/1.1 200 OK\r\nX-A: caf\u{C3}\u{A9}\r\nX-B: b", body: "caf\u{E9}")))

    let response = try await loader.load(try HTTPRequest(server.url("/"))).value

    expectEqual(response.headers["X-A"], "café")
    expectEqual(response.headers["X-B"], "b")
  }
}
