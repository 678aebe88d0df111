import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("JSONCoders") struct JSONCodersTests {
  /// A value whose form depends on the coders: `{"firstName": 0}` with the defaults, `{"first_name": "…Z"}` with those of the chain.
  private struct User: Codable, Hashable, Sendable {
    var firstName = Date(timeIntervalSince1970: 0)
  }

  /// A loader of a user's, that wraps a chain.
  private struct Service: HTTPLoader {
    let chain: any HTTPLoader
    var namesParts = true

    var parts: [any HTTPPart] { namesParts ? [chain] : [] }

    func load(_ request: HTTPRequest) -> Future<HTTPResponse> { chain.load(request) }

    func reset() -> Future<Void> { chain.reset() }
  }

  private let mock = MockLoader()
  private let url: HTTPEndpoint = "https://example.com/"
  private let coders: JSONCoders
  private let own = #"{"first_name":"1970-01-01T00:00:00Z"}"#

  init() {
    let (decoder, encoder) = (JSONDecoder(), JSONEncoder())
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    decoder.dateDecodingStrategy = .iso8601
    encoder.keyEncodingStrategy = .convertToSnakeCase
    encoder.dateEncodingStrategy = .iso8601
    coders = JSONCoders(decoder: decoder, encoder: encoder)
    mock.on(.any, MockAnswer.json(own).forever())
  }

  private var bodies: [String] {
    mock.requests.compactMap { request in
      if case .data(let data) = request.body.content { String(decoding: data, as: UTF8.self) } else { nil }
    }
  }

  @Test("Every method that decodes uses the decoder of the chain")
  func decodes() async throws {
    let api = coders --> mock
    let user = User()

    for load in [
      api.get(url, as: User.self), api.delete(url, as: User.self), api.post(url, json: 1, as: User.self),
      api.put(url, json: 1, as: User.self), api.patch(url, json: 1, as: User.self),
      api.upload(url, body: .data(Data()), as: User.self),
      api.upload(url, body: .data(Data()), on: .main, onProgress: { _ in }, as: User.self),
    ] { try await expectEqual(load.value, user) }
    expectEqual(mock.requests.count, 7)
  }

  @Test("Every method that sends a value uses the encoder of the chain")
  func encodes() async throws {
    let api = coders --> mock
    let user = User()

    for load in [api.post(url, json: user), api.put(url, json: user), api.patch(url, json: user)] {
      _ = try await load.value
    }
    for load in [
      api.post(url, json: user, as: User.self), api.put(url, json: user, as: User.self),
      api.patch(url, json: user, as: User.self),
    ] { _ = try await load.value }

    expectEqual(bodies, Array(repeating: own, count: 6))
  }

  @Test("The coders of a call replace those of the chain")
  func replaced() async throws {
    let api = coders --> mock
    let load = api.post(url, json: User(), encoder: JSONEncoder(), as: User.self, decoder: JSONDecoder())

    let error = await #expect(throws: HTTPError.self) { try await load.value }
    expectEqual(error?.code, .undecodableBody)
    #expect(bodies[0].hasPrefix(#"{"firstName":"#))
  }

  @Test("The outermost coders count, at any place in the chain")
  func outermost() async throws {
    let pair: any HTTPLayer = Log { _ in } --> coders
    for api in [
      coders --> JSONCoders() --> mock, Log { _ in } --> coders --> mock, pair --> JSONCoders() --> mock,
      Service(chain: Log { _ in } --> coders --> mock), Autocancel() --> Service(chain: coders --> mock),
    ] {
      try await expectEqual(api.get(url, as: User.self).value, User())
    }
  }

  @Test("Without coders in the chain, the methods use new ones")
  func absent() async {
    for api: any HTTPLoader in [
      mock, Log { _ in } --> mock, JSONCoders() --> coders --> mock, Service(chain: coders --> mock, namesParts: false),
    ] {
      let error = await #expect(throws: HTTPError.self) { try await api.get(url, as: User.self).value }
      expectEqual(error?.code, .undecodableBody)
    }
  }
}
