import FutureTreeHTTP

/// Which requests a stub of a `MockLoader` is for.
///
/// ```swift
/// mock.on("/users/*", .json("{}"))                                     // A text is a path.
/// mock.on(.method(.post) && "/users" && .header("Accept"), .status(.created))
/// mock.on(.host("*.example.com") && !.query("page", "1"), .status(.notFound))
/// mock.on(.matching("a long path") { $0.path.count > 100 }, .status(.badRequest))
/// ```
///
/// Matchers are combined with `&&`, `||` and `!`. A matcher says in words why a request does not match, without query,
/// header values and body, which may be secrets.
public struct RequestMatcher: Sendable, CustomStringConvertible {
  /// What is matched, in words, such as `method GET and path /users/*`.
  public let description: String

  /// Why the request does not match; nil if it does. It may call code of a user.
  let mismatch: @Sendable (HTTPRequest) -> String?

  init(_ description: String, mismatch: @escaping @Sendable (HTTPRequest) -> String?) {
    self.description = description
    self.mismatch = mismatch
  }

  /// Whether a request matches.
  public func matches(_ request: HTTPRequest) -> Bool { mismatch(request) == nil }

  /// Every request.
  public static let any = RequestMatcher("any request") { _ in nil }
}

extension RequestMatcher: ExpressibleByStringInterpolation {
  /// A path, as `path(_:)`.
  public init(stringLiteral path: String) {
    self = .path(path)
  }
}

// MARK: - Combining

extension RequestMatcher {
  /// Requests that match both. The right side is not asked if the left does not match.
  public static func && (left: RequestMatcher, right: RequestMatcher) -> RequestMatcher {
    RequestMatcher("\(left) and \(right)") { left.mismatch($0) ?? right.mismatch($0) }
  }

  /// Requests that match one, or both. The right side is not asked if the left matches.
  public static func || (left: RequestMatcher, right: RequestMatcher) -> RequestMatcher {
    RequestMatcher("(\(left), or \(right))") { request in
      guard let leftMismatch = left.mismatch(request), let rightMismatch = right.mismatch(request) else { return nil }
      return "\(leftMismatch), and \(rightMismatch)"
    }
  }

  /// Requests that do not match.
  public static prefix func ! (matcher: RequestMatcher) -> RequestMatcher {
    RequestMatcher("not (\(matcher))") { matcher.mismatch($0) == nil ? "it matches \(matcher)" : nil }
  }
}
