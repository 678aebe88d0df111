import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
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
    "A truncated, oversized or ambiguous body is an error, never a shorter success", arguments: [true, false],
    [
      Answer("truncated", "Content-Length: 10\r\n\r\n01234", .truncatedBody),
      Answer("truncated between chunks", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", .truncatedBody),
      Answer("too long by Content-Length", "Content-Length: 11\r\n\r\n0123456789A", .bodyTooLarge),
      Answer("too long, in chunks", "Transfer-Encoding: chunked\r\n\r\nB\r\n0123456789A\r\n0\r\n\r\n", .bodyTooLarge),
    ])
  func whole(isSystemLoader: Bool, answer: Answer) async throws {
    let loader: any HTTPLoader =
      isSystemLoader
      ? SystemLoader(.init(timeout: nil, maximumBodySize: 10))
      : URLSessionLoader(.init(timeout: nil, maximumBodySize: 10))

    try await expectEqual(outcome(of: answer, over: loader), "\(answer.code)")
  }

  @Test("An encoded body that the request did not ask for is an error of URLSessionLoader")
  func encoded() async throws {
    let answer = Answer("encoded", "Content-Encoding: br\r\nContent-Length: 2\r\n\r\nok", .encodedBody)
    let loader = URLSessionLoader(.init(timeout: nil, maximumBodySize: 10))

    try await expectEqual(outcome(of: answer, over: loader), "\(answer.code)")
  }

  private func outcome(of answer: Answer, over loader: any HTTPLoader) async throws -> String {
    let server = try Loopback.server()
    server.on("/", [.send(answer.text), .close])
    return await loader.load(try HTTPRequest(server.url("/"))).outcome.text
  }
}
