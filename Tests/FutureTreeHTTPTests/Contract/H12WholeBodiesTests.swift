import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import TestSupport
import Testing

@Suite("H12: whole bodies", .tags(.h12), .onSockets, .timeLimit(.minutes(20)))
struct H12WholeBodiesTests {
  /// The text that a server sends, and the expected error.
  struct Answer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String
    let code: HTTPError.Code

    init(_ testDescription: String, _ text: String, _ code: HTTPError.Code) {
      (self.testDescription, self.text, self.code) = (testDescription, "HTTP/1.1 200 OK\r\n\(text)", code)
    }
  }

  @Test(
    "A truncated, oversized or ambiguous body is an error, never a shorter success",
    arguments: [
      Answer("truncated", "Content-Length: 10\r\n\r\n01234", .truncatedBody),
      Answer("truncated between chunks", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", .truncatedBody),
      Answer("too long by Content-Length", "Content-Length: 11\r\n\r\n0123456789A", .bodyTooLarge),
      Answer("too long, in chunks", "Transfer-Encoding: chunked\r\n\r\nB\r\n0123456789A\r\n0\r\n\r\n", .bodyTooLarge),
    ])
  func whole(answer: Answer) async throws {
    let server = try Loopback.server()
    server.on("/", [.send(answer.text), .close])

    let outcome = try await SystemLoader(.init(timeout: nil, maximumBodySize: 10)).load(
      HTTPRequest(server.url("/"))
    ).outcome

    #expect(outcome.text == "\(answer.code)")
  }
}
