/// A link of the header field `Link` (RFC 8288).
///
/// ```swift
/// // Link: </posts?page=2>; rel="next"; title="Older posts"
/// let link = response.headers.links[0]
/// link.relations  // ["next"]
/// link["title"]   // "Older posts"
/// ```
///
/// To get the URL of a link, use `HTTPResponse.linkedURL(_:)`, or resolve `target` with `HTTPURL.resolving(received:)`.
public struct HTTPLink: Sendable, Hashable {
  /// The text between `<` and `>`, as the server wrote it: a URL, or a reference relative to the URL of the request. It
  /// is not validated.
  public let target: String
  /// The relation types of the first parameter `rel`, in lower case, in order. At least one.
  public let relations: [String]
  /// The values of the other parameters. The keys are names in lower case. If a name occurs several times, the first
  /// value is used. Parameters with a language, whose names end with `*`, are omitted.
  public let parameters: [String: String]
  /// The languages of the resource: the values of all parameters `hreflang`, in order.
  public let languages: [String]

  /// Returns the value of a parameter. The name is compared case-insensitively.
  public subscript(name: String) -> String? { parameters[name.lowercased()] }

  /// Returns whether the link has this relation type. Relation types are compared case-insensitively.
  public func isOf(relation: String) -> Bool { relations.contains(relation.lowercased()) }

  /// Returns whether the link is a link of the resource with this URL. The parameter `anchor` can name another resource
  /// (RFC 8288, section 3.2).
  fileprivate func isLink(of url: HTTPURL) -> Bool {
    guard let anchor = parameters["anchor"] else { return true }
    return !anchor.utf8.contains(UInt8(ascii: "#")) && (try? url.resolving(received: anchor)) == url
  }
}

extension HTTPHeaders {
  /// The links of all `Link` fields, in order (RFC 8288, section 3). At most 250.
  ///
  /// ```swift
  /// let styles = response.headers.links.filter { $0.isOf(relation: "stylesheet") }
  /// ```
  ///
  /// A malformed part of a field ends the list of that field. Links without a relation type are omitted.
  ///
  /// - Complexity: O(n) in the length of the fields.
  public var links: [HTTPLink] { LinkFields(self).links }
}

extension HTTPResponse {
  /// Returns the URL of the first link with a relation type, resolved relative to the URL of the request.
  ///
  /// ```swift
  /// // Link: </posts?page=2>; rel="next"
  /// let next = try response.linkedURL("next")  // https://example.com/posts?page=2
  /// ```
  ///
  /// A link whose parameter `anchor` names another resource is ignored. The URL can have another origin.
  ///
  /// - Parameter relation: The relation type. It is compared case-insensitively.
  /// - Returns: The URL, or `nil` if there is no such link.
  /// - Throws: `HTTPError` with the code `invalidLink` if the target of the link is not a valid URL. The same code is
  ///   used if the link was not found and a field is malformed or has more than 250 links, because the missing part can
  ///   contain the link. `HTTPError` with the code `missingHost` if there are links and the request has only a path.
  public func linkedURL(_ relation: String) throws(HTTPError) -> HTTPURL? {
    let fields = LinkFields(headers)
    for link in fields.links where link.isOf(relation: relation) {
      let base = try request.requireURL()
      guard link.isLink(of: base) else { continue }
      do throws(HTTPError) {
        return try base.resolving(received: link.target)
      } catch {
        throw HTTPError(
          .invalidLink,
          "A link in the response to \(request) is not a valid URL. \(error.message) Fix the server, or read "
            + "the target from `headers.links`.",
          response: self, underlying: error)
      }
    }
    guard fields.isWhole else {
      throw HTTPError(
        .invalidLink,
        "The Link field of the response to \(request) is malformed or too long. A link may be missing. Fix the server, "
          + "or read the links from `headers`.",
        response: self)
    }
    return nil
  }
}

extension HTTPLink: CustomStringConvertible, CustomReflectable {
  /// The relation types and the names of the parameters, without the target, which may contain secrets.
  public var description: String { (relations + parameters.keys.sorted().map { "\($0): …" }).joined(separator: ", ") }

  public var customMirror: Mirror { Mirror(self, children: ["link": description], displayStyle: .struct) }
}
