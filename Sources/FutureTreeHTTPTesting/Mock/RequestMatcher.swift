import FutureTreeHTTP

/// A predicate that selects the requests that a stub of a `MockLoader` answers.
///
/// ```swift
/// mock.on("/users/*", .json("{}"))                                     // A string literal is a path.
/// mock.on(.method(.post) && "/users" && .header("Accept"), .status(.created))
/// mock.on(.host("*.example.com") && !.query("page", "1"), .status(.notFound))
/// mock.on(.matching("a long path") { $0.path.count > 100 }, .status(.badRequest))
/// ```
///
/// Combine matchers with `&&`, `||` and `!`. A matcher gives the reason why a request does not match. The reason never contains
/// the query, header values or the body, which may be secrets.
public struct RequestMatcher: Sendable, CustomStringConvertible {
  /// The condition in words, such as `method GET and path /users/*`.
  public let description: String

  /// Returns the reason why a request does not match, or `nil` if it matches. May call a closure of the user.
  let mismatch: @Sendable (HTTPRequest) -> String?

  init(_ description: String, mismatch: @escaping @Sendable (HTTPRequest) -> String?) {
    self.description = description
    self.mismatch = mismatch
  }

  /// Returns whether a request matches.
  public func matches(_ request: HTTPRequest) -> Bool { mismatch(request) == nil }

  /// Matches every request.
  public static let any = RequestMatcher("any request") { _ in nil }
}

extension RequestMatcher: ExpressibleByStringInterpolation {
  /// Creates a matcher of a path, as `path(_:)` does.
  public init(stringLiteral path: String) {
    self = .path(path)
  }
}

// MARK: - Combining

extension RequestMatcher {
  /// Matches requests that match both sides. The right side is not evaluated if the left does not match.
  public static func && (left: RequestMatcher, right: RequestMatcher) -> RequestMatcher {
    RequestMatcher("\(left) and \(right)") { left.mismatch($0) ?? right.mismatch($0) }
  }

  /// Matches requests that match at least one side. The right side is not evaluated if the left matches.
  public static func || (left: RequestMatcher, right: RequestMatcher) -> RequestMatcher {
    RequestMatcher("(\(left), or \(right))") { request in
      guard let leftMismatch = left.mismatch(request), let rightMismatch = right.mismatch(request) else { return nil }
      return "\(leftMismatch), and \(rightMismatch)"
    }
  }

  /// Matches requests that do not match `matcher`.
  public static prefix func ! (matcher: RequestMatcher) -> RequestMatcher {
    RequestMatcher("not (\(matcher))") { matcher.mismatch($0) == nil ? "it matches \(matcher)" : nil }
  }
}
