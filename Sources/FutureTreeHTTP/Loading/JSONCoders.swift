import Foundation
import FutureTree

/// A layer that gives the methods for JSON of its chain their decoder and their encoder.
///
/// ```swift
/// let decoder = JSONDecoder()
/// decoder.dateDecodingStrategy = .iso8601
/// let api = JSONCoders(decoder: decoder) --> ApplyEnvironment(production) --> SystemLoader()
/// let user = api.get("users/7", as: User.self)
/// ```
///
/// The methods are those of ``HTTPLoader`` that send or decode a value, such as `get(_:as:)` and `post(_:json:)`. A decoder or an
/// encoder that a call names replaces that of the layer. Of several such layers the outermost counts. The layer changes no request
/// and no response, so that its position does not matter, except that it is not found behind a loader that names no
/// ``HTTPPart/parts``.
///
/// ``FutureTree/Future/decoded(as:using:on:)`` and ``HTTPBody/json(_:encoder:)`` belong to no chain, and use what they are given.
///
/// A decoder and an encoder are used by several threads at the same time. Configure them before they are passed.
public struct JSONCoders: HTTPLayer {
  /// The decoder of responses.
  public let decoder: JSONDecoder
  /// The encoder of values that are sent.
  public let encoder: JSONEncoder

  /// Creates a layer with a decoder and an encoder.
  public init(decoder: JSONDecoder = JSONDecoder(), encoder: JSONEncoder = JSONEncoder()) {
    self.decoder = decoder
    self.encoder = encoder
  }

  /// Passes the request on, unchanged.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> { next.load(request) }
}

extension HTTPLoader {
  /// The outermost coders of the chain.
  var coders: JSONCoders? {
    var loader: any HTTPLoader = self
    while let chain = loader as? HTTPChain {
      if let coders = chain.layer as? JSONCoders { return coders }
      loader = chain.next
    }
    return loader.parts.lazy.compactMap { ($0 as? any HTTPLoader)?.coders }.first
  }
}

extension Future<HTTPResponse> {
  /// Decodes the body with the given decoder, or with that of a chain.
  func decoded<Decoded: Decodable & Sendable>(
    as type: Decoded.Type, by decoder: JSONDecoder?, _ chain: some HTTPLoader
  ) -> Future<Decoded> {
    decoded(as: type, using: decoder ?? chain.coders?.decoder ?? JSONDecoder())
  }
}
