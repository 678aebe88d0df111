import Foundation
import FutureTreeHTTP

/// The answer of a simulated server, before the faults of the network.
public struct SimulatedResponse: Sendable {
  /// The status code.
  public var status: HTTPStatus
  /// The header fields. `Content-Length` is added.
  public var fields: [(name: String, value: String)]
  /// The body.
  public var body: Data

  /// Creates a response.
  public init(_ status: HTTPStatus = .ok, _ fields: [(name: String, value: String)] = [], body: Data = Data()) {
    self.status = status
    self.fields = fields
    self.body = body
  }
}

extension SimulatedResponse {
  /// The answer to a request of a simulation: items of different sizes, with the user and the language of the request. Even items
  /// are fresh for 5 s. Every third one sets a cookie with the secret of its host. The items 2 and 6 are translated: a response in
  /// a language has `Vary`, and one in no language omits it, as some servers do (RFC 9111, section 4.1).
  static func item(_ request: HTTPRequest, secret: String) -> SimulatedResponse {
    let path = request.url?.path.description ?? "/"
    let number = Int(path.split(separator: "/").dropFirst().first.map(String.init) ?? "") ?? 0
    var fields = [
      ("Content-Type", "application/json"), ("Cache-Control", number.isMultiple(of: 2) ? "max-age=5" : "no-store"),
    ]
    .map { (name: $0.0, value: $0.1) }
    if number.isMultiple(of: 3) { fields.append(("Set-Cookie", "session=\(secret); Path=/")) }
    if number.isMultiple(of: 2) { fields.append(("ETag", "\"item-\(number)\"")) }
    var facts = "\"path\": \"\(path)\", "
    if let user = request.simulatedUser { facts += "\"user\": \(user), " }
    if number % 4 == 2, let language = request.headers["Accept-Language"] {
      facts += "\"language\": \"\(language)\", "
      fields.append(("Vary", "Accept-Language"))
    }
    let text = String(repeating: "item \(number). ", count: 1 + number * 37 % 101)
    return SimulatedResponse(.ok, fields, body: Data("{\(facts)\"text\": \"\(text)\"}".utf8))
  }
}
