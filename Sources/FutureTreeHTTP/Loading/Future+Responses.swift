import Foundation
import FutureTree

extension Future where Value == HTTPResponse {
  /// Checks the status of the response. By default, 200 to 299 are accepted.
  ///
  /// ```swift
  /// api.load(request).validated().recover { error in
  ///   guard let response = (error as? HTTPError)?.response, response.status == .notFound else { throw error }
  ///   return response
  /// }
  /// ```
  ///
  /// Failures and cancellations pass through. Cancellation requests are forwarded, as with `map`.
  ///
  /// - Returns: A future that fails with the code `unacceptableStatus` if the status is not accepted.
  ///   `HTTPError.response` has the response, and `HTTPError.problem` the details that the server gives.
  @discardableResult
  public func validated(
    _ accepts: @escaping @Sendable (HTTPStatus) -> Bool = { $0.isSuccess }
  ) -> Future<HTTPResponse> {
    map { response in
      guard accepts(response.status) else {
        let problem = response.problem.map { ": \($0). See `problem`" } ?? ". See `response`"
        throw HTTPError(
          .unacceptableStatus, "\(response.request) failed with the status \(response.status)\(problem).",
          response: response)
      }
      return response
    }
  }

  /// Decodes the body, regardless of the status. Call `validated()` first to refuse error responses.
  ///
  /// ```swift
  /// let user = api.load(request).validated().decoded(as: User.self)
  /// ```
  ///
  /// Failures and cancellations pass through. Cancellation requests are forwarded, as with `map`: if decoding has not
  /// begun when the future is cancelled, it does not begin.
  ///
  /// The messages of decoding errors contain positions and types, never values. If the body is not JSON, the message
  /// names its content type, and says whether it is a page.
  ///
  /// If the type is optional, a body that is empty or blank is `nil`. This includes responses that never have a body, such
  /// as 204.
  ///
  /// - Parameters:
  ///   - type: The type to decode.
  ///   - decoder: The decoder, which defines the format of keys, dates and data.
  ///   - executor: The executor on which the body is decoded. Defaults to the place where the response arrives.
  /// - Returns: A future that fails with the code `undecodableBody` if the body cannot be decoded, and with `bodyInFile`
  ///   if the body is in a file. `HTTPError.response` has the response of an `undecodableBody` error.
  @discardableResult
  public func decoded<Decoded: Decodable & Sendable>(
    as type: Decoded.Type = Decoded.self, using decoder: JSONDecoder = JSONDecoder(),
    on executor: FutureExecutor = .immediate
  ) -> Future<Decoded> {
    map(on: executor) { try $0.decoded(as: type, using: decoder) }
  }
}
