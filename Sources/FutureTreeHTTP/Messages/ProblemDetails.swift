import Foundation

/// The details of an error that a server describes in JSON (RFC 9457).
///
/// ```swift
/// api.post("posts", json: ["title": "Notes"]).onFailure { error in
///   guard let problem = (error as? HTTPError)?.problem else { return }
///   print(problem.detail ?? problem.title ?? "The server gives no details.")
/// }
/// ```
///
/// A member whose value has the wrong type is ignored (section 3.1). Decode other members with `HTTPResponse.decoded(as:)`.
/// Details in XML are not read.
public struct ProblemDetails: Sendable, Hashable {
  /// The URI reference that identifies the kind of the problem. `about:blank` if the server names none: the status is the kind.
  public let type: String
  /// A summary of the kind of the problem.
  public let title: String?
  /// The status, as the origin server sent it.
  public let status: Int?
  /// An explanation of this occurrence, for its reader. It may contain personal data, so it is never printed.
  public let detail: String?
  /// The URI reference that identifies this occurrence. It is never printed.
  public let instance: String?
}

extension ProblemDetails: Decodable {
  private enum CodingKeys: CodingKey {
    case type, title, status, detail, instance
  }

  /// Reads the members that have the type of RFC 9457.
  ///
  /// - Throws: `DecodingError` if the value is no object.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    func text(_ key: CodingKeys) -> String? { try? members.decode(String.self, forKey: key) }
    type = text(.type) ?? "about:blank"
    title = text(.title)
    status = try? members.decode(Int.self, forKey: .status)
    detail = text(.detail)
    instance = text(.instance)
  }
}

extension ProblemDetails: CustomStringConvertible, CustomReflectable {
  /// The title and the type in one line. The type is printed without its query.
  public var description: String {
    let kind = type == "about:blank" ? nil : String(type.prefix { $0 != "?" && $0 != "#" })
    let parts = [title, kind.map { title == nil ? $0 : "(\($0))" }].compactMap { $0 }
    return parts.isEmpty ? "no details" : OneLine.text(parts.joined(separator: " "), limit: 200)
  }

  /// The title and the type.
  public var customMirror: Mirror { Mirror(self, children: ["problem": description], displayStyle: .struct) }
}

extension HTTPResponse {
  /// The details of the error that the server describes (RFC 9457). `nil` if the content type is not `application/problem+json`,
  /// or if the body is not an object in JSON, or not in memory.
  public var problem: ProblemDetails? {
    guard mediaType == "application/problem+json", case .data(let body) = content else { return nil }
    return try? JSONDecoder().decode(ProblemDetails.self, from: body)
  }
}

extension HTTPError {
  /// The details of the error that the server describes (RFC 9457), from `response`.
  public var problem: ProblemDetails? { response?.problem }
}
