import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Layers: Coalesce")
struct CoalesceTests {
  let clock = ManualClock()
  let mock = MockLoader()
  let coalesce = Coalesce()
  let api: any HTTPLoader

  init() {
    api = (coalesce --> mock)
  }

  func expectNothingLeft() {
    expectEqual(coalesce.flightCount, 0)
    expectEqual(clock.timerCount, 0)
    expectEqual(mock.pendingCount, 0)
  }

  // MARK: Sharing

  @Test("Identical requests in flight share one load, and each response has the request of its caller")
  func shares() throws {
    let held = mock.hold()
    var requests = [anyRequest(), anyRequest(), try HTTPRequest("http://example.com:80/")]
    requests[1].priority = .high

    let loads = requests.map { api.load($0) }
    expectEqual(mock.requests.count, 1)
    expectEqual(coalesce.flightCount, 1)
    held.answer(body: "answer")

    let answers = try loads.map { try #require($0.outcomeIfCompleted).get() }
    #expect(try answers.allSatisfy { try $0.body == Data("answer".utf8) })
    expectEqual(answers.map { $0.request.priority }, [.normal, .high, .normal])
    expectEqual(answers.map { $0.request.url?.explicitPort }, [nil, nil, 80])
    expectNothingLeft()
  }

  @Test("Loads are shared in a branch of a route, even if Coalesce is not its last layer")
  func sharesInBranch() {
    let held = mock.hold()
    let layers = Redirect() --> coalesce --> Retry() --> Redirect()
    let branch = Route(.when({ _ in true }, layers)) --> mock

    let loads = [branch.load(anyRequest()), branch.load(anyRequest())]
    expectEqual(mock.requests.count, 1)
    expectEqual(coalesce.flightCount, 1)
    held.answer(body: "answer")

    expectEqual(loads.map(\.text), ["success", "success"])
    expectNothingLeft()
  }

  @Test("Responses are not cached: a caller after completion starts another load")
  func notCached() {
    mock.answer(body: "1")
    mock.answer(body: "2")

    let loads = [api.load(anyRequest()), api.load(anyRequest())]

    expectEqual(loads.map(\.text), ["success", "success"])
    expectEqual(mock.requests.count, 2)
    expectNothingLeft()
  }

  @Test("All callers receive a failure, and its response has their own request")
  func failures() throws {
    let held = mock.hold()
    let loads = [RequestPriority.normal, .high].map { api.load(request($0)) }
    let answer = HTTPResponse(to: mock.requests[0], status: .notFound)

    held.complete(.failure(HTTPError(.unacceptableStatus, "no", response: answer)))

    let errors = try loads.map { try #require($0.failure as? HTTPError) }
    #expect(errors.allSatisfy { $0.code == .unacceptableStatus && $0.response?.status == .notFound })
    expectEqual(errors.map { $0.response?.request.priority }, [.normal, .high])
    expectNothingLeft()
  }

  // MARK: The request of a response

  private func request(_ priority: RequestPriority, to path: String = "/") -> HTTPRequest {
    var request = anyRequest(path)
    request.priority = priority
    return request
  }

  @Test("After a redirect, the response of each caller has the last request, with the options of the caller")
  func redirected() throws {
    mock.on("/a", .respond(status: HTTPStatus(302), headers: try HTTPHeaders([("Location", "/dir/b")]), body: Data()))
    let held = mock.on("/dir/b", .hold())
    let chain = coalesce --> Redirect() --> mock
    let handler: ProgressHandler.Value = { _ in }
    var requests = [request(.low, to: "/a"), request(.high, to: "/a")]
    requests[1].progress = handler

    let loads = requests.map { chain.load($0) }
    held.held[0].answer(headers: try HTTPHeaders([("Link", "<c>; rel=\"next\"")]))

    let answers = try loads.map { try #require($0.outcomeIfCompleted).get() }
    expectEqual(answers.map { $0.request.url?.path }, ["/dir/b", "/dir/b"])
    try expectEqual(answers.map { try $0.linkedURL("next")?.path }, ["/dir/c", "/dir/c"])
    expectEqual(answers.map(\.redirections.count), [1, 1])
    expectEqual(answers.map { $0.request.priority }, [.low, .high])
    expectEqual(answers.map { $0.request.progress != nil }, [false, true])
    #expect(answers.allSatisfy { $0.request.sharedCallers == nil })
    expectNothingLeft()
  }

  @Test("The response of a failure names the last request as well")
  func redirectedFailure() throws {
    let redirect = MockAnswer.respond(
      status: HTTPStatus(302), headers: try HTTPHeaders([("Location", "/b")]), body: Data())
    mock.onOthers(redirect.forever())
    let chain = coalesce --> Redirect(limit: 1) --> mock

    let error = try #require(chain.load(anyRequest("/a")).failure as? HTTPError)

    expectEqual(error.code, .tooManyRedirects)
    expectEqual(error.response?.request.url?.path, "/b")
    expectEqual(error.response?.redirections.map(\.url.path), ["/a"])
    expectNothingLeft()
  }

  @Test("The response has the URL that a later layer has filled in, as without the layer")
  func completed() throws {
    let layers =
      ApplyEnvironment(try ServerEnvironment(host: "api.example.com", pathPrefix: "/v1"))
      --> BearerAuth(try BearerToken("t"))
    mock.onOthers(.status(.ok).forever())
    let request = try HTTPRequest(.get, path: "users")

    let answers = try [layers --> mock, coalesce --> layers --> mock].map { chain in
      try #require(chain.load(request).outcomeIfCompleted).get().request
    }

    #expect(answers.map { $0.url?.absoluteString } == Array(repeating: "https://api.example.com/v1/users", count: 2))
    expectEqual(answers.map { $0.headers["Authorization"] }, ["Bearer t", "Bearer t"])
  }

  /// A change to a request that prevents sharing its load.
  struct Difference: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let make: @Sendable (inout HTTPRequest) throws -> Void

    init(_ name: String, _ make: @escaping @Sendable (inout HTTPRequest) throws -> Void) {
      testDescription = name
      self.make = make
    }
  }

  private enum Plain: HTTPRequestOption { static var defaultValue: Int { 0 } }
  private enum Closure: HTTPRequestOption { static var defaultValue: (@Sendable () -> Void)? { nil } }

  static let differences = [
    Difference("method") { $0.method = .head },
    Difference("another method that is not safe") { $0.method = .delete },
    Difference("query") { $0.target = .url(try HTTPURL("http://example.com/?a")) },
    Difference("scheme") { $0.target = .url(try HTTPURL("https://example.com/")) },
    Difference("port") { $0.target = .url(try HTTPURL("http://example.com:81/")) },
    Difference("a path without a host") { $0.target = .path(try HTTPPath("/")) },
    Difference("identity") { try $0.setHeader("Authorization", "Bearer b") },
    Difference("cookie") { try $0.setHeader("Cookie", "a=b") },
    Difference("key of an API") { try $0.setHeader("X-Api-Key", "a") },
    Difference("own token") { $0.bearerToken = try BearerToken("a") },
    Difference("representation") { try $0.setHeader("Accept", "text/plain") },
    Difference("range") { try $0.setHeader("Range", "bytes=0-1") },
    Difference("an empty body") { $0.body = .data(Data()) },
    Difference("size") { $0.delivery = .buffered(maximumSize: 5) },
    Difference("timeout") { $0.timeout = .seconds(5) },
    Difference("bypassing a throttle") { $0.bypassesThrottle = true },
    Difference("an option that it does not know") { $0[option: Plain.self] = 1 },
    Difference("an option that cannot be compared") { $0[option: Closure.self] = {} },
    Difference("a key") { $0.coalescing = .key("a") },
    Difference("coalescing turned off") { $0.coalescing = .never },
  ]

  @Test("Requests with any difference that can change the response are not shared", arguments: differences)
  func differs(difference: Difference) throws {
    let stub = mock.on(.any, .hold().forever())
    var other = anyRequest()
    try difference.make(&other)

    let api = coalesce --> anyHost --> mock
    let loads = [api.load(anyRequest()), api.load(other)]

    expectEqual(mock.requests.count, 2)
    for answer in stub.held { answer.answer() }
    expectEqual(loads.map(\.text), ["success", "success"])
    expectNothingLeft()
  }

  @Test("Equal requests are shared, whatever the order and the case of their header names")
  func same() throws {
    let held = mock.hold()
    var (first, second) = (anyRequest(), anyRequest())
    for (name, value) in [("Accept", "a"), ("Authorization", "b"), ("Accept", "c")] { try first.addHeader(name, value) }
    for (name, value) in [("AUTHORIZATION", "b"), ("accept", "a"), ("Accept", "c")] {
      try second.addHeader(name, value)
    }
    for request in [0, 1] {
      let closure = { @Sendable (_: HTTPProgress) in _ = request }
      if request == 0 {
        first.progress = closure
      } else {
        second.progress = closure
      }
    }
    first[option: Plain.self] = 7
    second[option: Plain.self] = 7
    first[option: Closure.self] = nil
    second[option: Closure.self] = nil
    second.attempt = 2

    let loads = [api.load(first), api.load(second)]

    expectEqual(mock.requests.count, 1)
    held.answer()
    expectEqual(loads.map(\.text), ["success", "success"])
    expectNothingLeft()
  }

  @Test("Ignored options do not prevent sharing")
  func ignored() {
    let coalesce = Coalesce(ignoring: Closure.self, Plain.self)
    let api = coalesce --> mock
    let held = mock.hold()
    var other = anyRequest()
    other[option: Closure.self] = {}
    other[option: Plain.self] = 3

    let loads = [api.load(anyRequest()), api.load(other)]
    held.answer()

    expectEqual(loads.map(\.text), ["success", "success"])
    expectEqual(mock.requests.count, 1)
    expectEqual(coalesce.flightCount, 0)
  }

  @Test("Unsafe methods and bodies are shared only by a key, and only if all else is equal")
  func keys() throws {
    let stub = mock.on(.any, .hold().forever())
    func post(_ key: String?, _ body: HTTPBody) throws -> HTTPRequest {
      var request = try HTTPRequest(.post, "http://example.com/search")
      request.body = body
      if let key { request.coalescing = .key(key) }
      return request
    }
    let stream = HTTPBody.stream { HTTPBodyReader { _ in Data() } }
    let requests = try [
      post(nil, .empty), post(nil, .empty), post("a", .data(Data("x".utf8))), post("a", .data(Data("x".utf8))),
      post("a", .data(Data("y".utf8))), post("b", .data(Data("x".utf8))), post("a", stream), post("a", stream),
      post("a", .file(URL(filePath: "/tmp/a"))), post("a", .file(URL(filePath: "/tmp/a"))),
    ]

    let loads = requests.map { api.load($0) }

    expectEqual(mock.requests.count, 7)
    expectEqual(coalesce.flightCount, 5)
    for answer in stub.held { answer.answer() }
    #expect(loads.allSatisfy { $0.text == "success" })
    expectNothingLeft()
  }

  @Test("A delivery to a file is never shared, not even by a key")
  func files() {
    let stub = mock.on(.any, .hold().forever())
    var request = anyRequest()
    request.delivery = .file(URL(filePath: "/tmp/a"), maximumSize: nil)
    request.coalescing = .key("a")

    let loads = [api.load(request), api.load(request)]

    expectEqual(mock.requests.count, 2)
    expectEqual(coalesce.flightCount, 0)
    for answer in stub.held { answer.answer() }
    #expect(loads.allSatisfy { $0.text == "success" })
  }

  @Test("Two chains share loads only if they have the same next loader")
  func twoChains() {
    let other = MockLoader()
    let (stub, held) = (mock.on(.any, .hold().forever()), other.hold())
    let chains = [api, coalesce --> mock, coalesce --> other]

    let loads = chains.map { $0.load(anyRequest()) }

    expectEqual(mock.requests.count, 1)
    expectEqual(other.requests.count, 1)
    stub.held[0].answer()
    held.answer()
    #expect(loads.allSatisfy { $0.text == "success" })
    expectNothingLeft()
  }

  @Test("Coalesce and Throttle print no secret (H11, no printed secret)")
  func secrets() throws {
    let stub = mock.on(.any, .hold().forever())
    let throttle = Throttle(1, perHost: 1, clock: clock)
    let api = coalesce --> throttle --> mock
    let loads = try (0..<3).map { number in
      var request = try HTTPRequest(.post, "http://example.com/?secret=\(number)")
      try request.setHeader("Authorization", "secret")
      request.body = .data(Data("secret".utf8))
      request.coalescing = .key("secret")
      request[option: Named.self] = "secret"
      return api.load(request)
    }

    var shown = "\(coalesce) \(throttle)"
    dump(coalesce, to: &shown)
    dump(throttle, to: &shown)

    expectEqual(throttle.waitingCount, 2)
    expectEqual(coalesce.flightCount, 3)
    #expect(!shown.contains("secret"))
    for number in 0..<3 { stub.held[number].answer() }
    #expect(loads.allSatisfy { $0.text == "success" } && throttle.isIdle)
    expectNothingLeft()
  }

  private enum Named: HTTPRequestOption { static var defaultValue: String { "" } }
}

extension Future {
  fileprivate var failure: (any Error)? {
    if case .failure(let error)? = outcomeIfCompleted { error } else { nil }
  }
}
