import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreePictures
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

/// Every input that can hold a secret has one, and every printable value is printed: H11 (no printed secret).
@Suite("H11: no printed secret", .tags(.h11), .onSockets)
struct H11SentinelTests {
  private let mock = MockLoader()
  private let clock = ManualClock()
  private let lines = Recorder()

  /// A body of every kind.
  private static func bodies() throws -> [HTTPBody] {
    let file = URL(fileURLWithPath: "/home/\(sentinel)/a")
    let part = try HTTPBody.Part.data("name", Data(sentinel.utf8), fileName: sentinel)
    return [
      .empty, .data(Data(sentinel.utf8)), try .json([sentinel: sentinel]), .form([(sentinel, sentinel)]),
      try .multipart([.text("a", sentinel), part]), .file(file),
      .stream { HTTPBodyReader(InputStream(data: Data(sentinel.utf8))) },
    ]
  }

  /// A request with the secret in its query, its header fields, its options and its body.
  private static func request(_ body: HTTPBody = .data(Data(sentinel.utf8))) throws -> HTTPRequest {
    var request = try HTTPRequest(.post, "https://example.com/path?key=\(sentinel)&\(sentinel)&a=1&b[]=".plain)
    for name in ["Authorization", "Cookie", "X-Api-Key", "Proxy-Authorization", "X-Session", "X-Unknown", "Referer"] {
      try request.addHeader(name, "Bearer \(sentinel)")
    }
    let credentials = Data("user:\(sentinel)".utf8).base64EncodedString()
    try request.addHeader("Authorization", "Basic \(credentials)")
    try request.addHeader("Accept", sentinel)
    request.sensitiveHeaders.insert("X-Session")
    request.sensitiveHeaders.insert("Accept")
    request.traceContext = TraceContext(
      traceparent: TraceContext.root().traceparent, tracestate: "vendor=\(sentinel)")
    request.delivery = .file(URL(fileURLWithPath: "/home/\(sentinel)/b"), maximumSize: nil)
    request.serverEnvironment = try ServerEnvironment(
      host: "a", headers: [("X-Key", sentinel)], query: [("key", sentinel), (sentinel, nil)])
    request.body = body
    return request
  }

  private static func response() throws -> HTTPResponse {
    HTTPResponse(
      to: try request(), status: .ok,
      headers: try HTTPHeaders([("Set-Cookie", sentinel), ("WWW-Authenticate", sentinel), ("Location", sentinel)]),
      body: Data(#"{"\#(sentinel)": "\#(sentinel)"}"#.utf8))
  }

  /// A page in place of JSON: the decoding error shows an outline of it.
  private static func page() throws -> HTTPResponse {
    let page = "<html lang=\(sentinel)><meta content='\(sentinel)'><title>Sign in \(sentinel)</title>\(sentinel)"
    return HTTPResponse(
      to: try request(), status: .ok, headers: try HTTPHeaders([("Content-Type", "text/html; a=\(sentinel)")]),
      body: Data(page.utf8))
  }

  private func expectNoSecret(in values: [Any], sourceLocation: SourceLocation = #_sourceLocation) {
    for value in values {
      #expect(!showsSecret(value), "\(type(of: value))", sourceLocation: sourceLocation)
      #expect(!showsSecret([value, value as Any?] as [Any?]), "[\(type(of: value))]", sourceLocation: sourceLocation)
    }
  }

  @Test("The test finds the secret as text, as bytes, encoded and nested")
  func control() {
    struct Box { var inner: Any }
    let base64 = Data("user:\(sentinel)".utf8).base64EncodedString()

    for value in [sentinel, Data(sentinel.utf8), Array(sentinel.utf8), base64, ["a": sentinel]] as [Any] {
      #expect(showsSecret(value) && showsSecret(Box(inner: Box(inner: value))))
    }
    #expect(!showsSecret(Box(inner: "nothing")))
  }

  @Test("Requests, their parts, and responses print no secret")
  func messages() throws {
    for body in try H11SentinelTests.bodies() {
      let request = try H11SentinelTests.request(body)
      expectNoSecret(in: [
        request, request.target, request.headers, request.headers[0], body, body.content, request.url as Any,
        request.curl(), request.traceContext as Any, request.serverEnvironment as Any,
        request.sensitiveHeaders, request.delivery,
      ])
      #expect(Secrets.isIn(request.curl(redacting: .nothing)), "Only `.nothing` shows the secret.")
    }
    let response = try H11SentinelTests.response()
    let inFile = HTTPResponse(
      to: response.request, status: .ok, content: .file(URL(fileURLWithPath: "/home/\(sentinel)"), size: 3))
    expectNoSecret(in: [response, response.content, response.headers, inFile, inFile.content])
    expectNoSecret(in: [
      Outcome.success(response), Completion.success(response), Result<_, any Error>.success(response),
    ])
  }

  @Test(
    "A load through every printing layer prints no secret, with every outcome")
  func loads() throws {
    let measurements = Locked<[HTTPMeasurement]>([])
    let api =
      ResetGuard() --> Autocancel(clock: clock) --> Log({ [lines] in lines($0) }, clock: clock)
      --> RequestMetrics(clock: clock) { measurement in measurements.withLock { $0.append(measurement) } }
      --> ApplyEnvironment(try ServerEnvironment(host: "a", headers: [("X-Key", sentinel)])) --> mock
    let response = try H11SentinelTests.response()
    let error = HTTPError(
      .transportFailed, "It failed.", response: response,
      underlying: URLError(.badURL, userInfo: [NSURLErrorFailingURLErrorKey: URL(string: "http://a/?\(sentinel)")!]))
    let completions: [Completion<HTTPResponse>] = [.success(response), .failure(error), .cancelled("enough")]

    for (completion, body) in zip(completions + completions, try H11SentinelTests.bodies()) {
      let held = mock.hold()
      let task = api.task(for: try H11SentinelTests.request(body))
      let futureLog = FutureLog(clock: clock)
      task.future.logged(in: futureLog)
      let decoded = task.start().decoded(as: [String: Int].self)
      expectNoSecret(in: H11SentinelTests.views(of: decoded) + [task, api, mock, held, held.request as Any])
      held.complete(completion)
      expectNoSecret(in: H11SentinelTests.views(of: decoded) + H11SentinelTests.views(of: task.future) + [task, api])
      expectNoSecret(in: [task.future.outcomeIfCompleted as Any, decoded.outcomeIfCompleted as Any])
      expectNoSecret(in: [futureLog, futureLog.events, futureLog.text(), futureLog.mermaid()])
    }

    expectEqual(lines.entries.count, 12)
    expectEqual(measurements.value.count, 12)
    expectEqual(clock.timerCount, 0)
    for line in lines.entries { print(line) }
    for measurement in measurements.value { print(measurement, measurement.attributes, measurement.samples) }
    expectNoSecret(in: [lines.entries, measurements.value, measurements.value.map(\.samples)])
  }

  @Test("Errors print no secret")
  func errors() throws {
    struct Value: Codable { var number: Int }
    let response = try H11SentinelTests.response()
    func error(_ body: () throws -> Void) -> (any Error)? {
      do { try body() } catch { return error }
      return nil
    }
    let errors = [
      error { _ = try HTTPURL("http://user:\(sentinel)@example.com/") },
      error { _ = try HTTPURL("http://example.com/?a b=\(sentinel)") },
      error { _ = try HTTPPath("//\(sentinel)@host") },
      error { _ = try HTTPHeaders([("A", "\(sentinel)\n")]) },
      error { _ = try HTTPBody.file(URL(fileURLWithPath: "/\(sentinel)")).makeReader() },
      error { _ = try Future.succeeded(response).decoded(as: [String: Int].self).outcomeIfCompleted?.get() },
      error { _ = try Future.succeeded(response).decoded(as: Value.self).outcomeIfCompleted?.get() },
      error { _ = try Future.succeeded(H11SentinelTests.page()).decoded(as: Value.self).outcomeIfCompleted?.get() },
      error { _ = try mock.load(H11SentinelTests.request()).outcomeIfCompleted?.get() },
      error { try mock.verify() },
      error { _ = try SystemLoader(.patient).load(H11SentinelTests.request()).outcomeIfCompleted?.get() },
    ]

    for error in errors { expectNoSecret(in: [try #require(error)]) }
  }

  /// Every printable view of a future and of its tree.
  private static func views<Value>(of future: Future<Value>) -> [Any] {
    let tree = future.tree()
    let json = (try? JSONEncoder().encode(tree)).map { String(decoding: $0, as: UTF8.self) }
    return [future, tree, tree.text(showsSourceLocations: true), tree.dot(), tree.mermaid(), json as Any]
  }
}

extension String {
  /// The text with encoded brackets, which a query cannot contain.
  fileprivate var plain: String { replacing("[]", with: "%5B%5D") }
}
