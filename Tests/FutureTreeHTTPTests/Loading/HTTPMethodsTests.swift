import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Methods of a loader") struct HTTPMethodsTests {
  private struct User: Codable, Hashable, Sendable {
    var id = 1
    var name = "Ada"
  }

  private let mock = MockLoader()
  private var api: any HTTPLoader { anyHost --> mock }
  private let user = MockAnswer.json(#"{"id": 1, "name": "Ada"}"#)

  /// Method, path and query, `Accept`, and the body of the last request.
  private var sent: [String] {
    guard let request = mock.requests.last else { return [] }
    let body: Data? = if case .data(let data) = request.body.content { data } else { nil }
    return [
      "\(request.method) \(request.path.dropFirst())" + (request.query.map { "?" + $0 } ?? ""),
      request.headers["Accept"] ?? "",
      body.map { String(decoding: $0, as: UTF8.self) } ?? "",
    ]
  }

  @Test("GET decodes the response, and requests JSON")
  func get() async throws {
    mock.on(.any, user)

    try await expectEqual(api.get("users/\("1/2")", query: [("all", nil)], as: User.self).value, User())
    expectEqual(sent, ["GET users/1%2F2?all", "application/json", ""])
  }

  @Test("GET without a type returns the response, and requests no format")
  func getResponse() async throws {
    mock.on(.any, .text("hello"))

    try await expectEqual(api.get("robots.txt").value.body, Data("hello".utf8))
    expectEqual(sent, ["GET robots.txt", "", ""])
  }

  @Test("POST, PUT and PATCH send JSON")
  func json() async throws {
    mock.on(.any, user.forever())
    let body = #"{"n":1}"#

    try await expectEqual(api.post("users", json: ["n": 1], as: User.self).value, User())
    expectEqual(sent, ["POST users", "application/json", body])
    try await expectEqual(api.put("users/1", json: ["n": 1], as: User.self).value, User())
    expectEqual(sent, ["PUT users/1", "application/json", body])
    try await expectEqual(api.patch("users/1", json: ["n": 1], as: User.self).value, User())
    expectEqual(sent, ["PATCH users/1", "application/json", body])

    expectEqual(api.post("users", json: ["n": 1]).status, "200")
    expectEqual(sent, ["POST users", "", body])
    expectEqual(api.put("users/1", json: ["n": 1]).status, "200")
    expectEqual(sent, ["PUT users/1", "", body])
    expectEqual(api.patch("users/1", json: ["n": 1]).status, "200")
    expectEqual(sent, ["PATCH users/1", "", body])
  }

  @Test("DELETE returns the response, or decodes it")
  func delete() async throws {
    mock.on(.any, .status(.noContent), user)

    expectEqual(api.delete("users/1").status, "204")
    expectEqual(sent, ["DELETE users/1", "", ""])
    try await expectEqual(api.delete("users/1", as: User.self).value, User())
    expectEqual(sent, ["DELETE users/1", "application/json", ""])
  }

  @Test("The request can be changed before it is loaded, and its header is not overwritten")
  func configured() throws {
    mock.on(.any, user.forever())

    let load = api.get("users/1", as: User.self) { request in
      try request.setHeader("Accept", "application/vnd.user+json")
      request.priority = .high
    }

    #expect(load.text == "success" && sent[1] == "application/vnd.user+json")
    expectEqual(mock.requests[0].priority, .high)
  }

  @Test("Encoders and decoders of the caller are used")
  func coders() async throws {
    struct Snake: Codable, Hashable, Sendable { var firstName = "Ada" }
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    encoder.keyEncodingStrategy = .convertToSnakeCase
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    mock.on(.any, .json(#"{"first_name": "Ben"}"#))

    let answer = try await api.post("x", json: Snake(), encoder: encoder, as: Snake.self, decoder: decoder).value

    #expect(answer == Snake(firstName: "Ben") && sent[2] == #"{"first_name":"Ada"}"#)
  }

  @Test("An error of building the request fails the future, and nothing is loaded")
  func buildErrors() {
    struct Unencodable: Encodable {
      func encode(to encoder: any Encoder) throws { throw Oops() }
    }
    let failures = [
      api.get("//example.com").text, api.get("users/\("")", as: User.self).text,
      api.post("users", json: Unencodable()).text, api.post("users", json: Unencodable(), as: User.self).text,
      api.get("users") { _ in throw Oops() }.text, api.load { throw Oops() }.text,
      api.load { throw CancellationError() }.text, api.upload("users", body: try Self.noBody()).text,
      api.load { try HTTPRequest(.get, to: "users/\("..")") }.text,
    ]

    expectEqual(
      failures,
      [
        "invalidURL", "invalidURL", "unencodableBody", "unencodableBody", "oops", "oops", "cancelled", "oops",
        "invalidURL",
      ])
    #expect(mock.requests.isEmpty)
  }

  private static func noBody() throws -> HTTPBody { throw Oops() }

  @Test("An unsuccessful status fails each call")
  func validated() {
    mock.onOthers(.json("{}", status: .notFound))
    let failures = [
      api.get("x").text, api.get("x", as: User.self).text, api.delete("x").text,
      api.post("x", json: 1).text, api.upload("x", body: .empty).text,
    ]

    expectEqual(Set(failures), ["unacceptableStatus"])
  }

  @Test("A body of another type fails with `undecodableBody`")
  func undecodable() {
    mock.onOthers(.json("[]"))

    expectEqual(api.get("x", as: User.self).text, "undecodableBody")
  }

  @Test("Cancelling a decoded future reaches the load")
  func cancel() {
    let held = mock.hold()
    let user = api.get("users/1", as: User.self)

    user.cancel(reason: "gone")

    expectEqual(held.cancelRequest?.reason.message, "gone")
    held.complete(.cancelled)
    expectEqual(user.text, "cancelled")
  }

  @Test("A request that a closure builds is loaded as it is, whatever the status of its response")
  func closure() {
    mock.onOthers(.status(.notFound))

    expectEqual(api.load { try HTTPRequest(.get, path: "users/1") }.status, "404")
  }

  @Test("A response does not retain the captures of its progress handler")
  func progressIsReleased() {
    final class Model: Sendable {}
    struct Echo: HTTPLoader {
      func load(_ request: HTTPRequest) -> Future<HTTPResponse> { .succeeded(HTTPResponse(to: request, status: .ok)) }
      func reset() -> Future<Void> { .succeeded }
    }
    weak var kept: Model?
    var load: Future<HTTPResponse>?
    do {
      let model = Model()
      kept = model
      load = Echo().upload("x", body: .empty, onProgress: { _ in withExtendedLifetime(model) {} })
    }

    expectEqual(load?.status, "200")
    #expect(kept == nil)
  }
}
