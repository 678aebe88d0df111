import Foundation
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

extension RequestMatcher {
  /// Matches requests with one of these methods.
  public static func method(_ methods: HTTPMethod...) -> RequestMatcher {
    RequestMatcher("method \(methods.map(\.name).joined(separator: " or "))") { request in
      methods.contains(request.method) ? nil : "its method is \(request.method)"
    }
  }

  /// Matches requests to a host. `*` matches any characters except a dot, `**` any characters. The comparison is
  /// case-insensitive.
  public static func host(_ pattern: String) -> RequestMatcher {
    let wildcards = Wildcards(pattern.lowercased(), separator: ".")
    return RequestMatcher("host \(pattern)") { request in
      guard let host = request.url?.host else { return "it has no host" }
      return wildcards.matches(host) ? nil : "its host is \(host)"
    }
  }

  /// Matches requests with a path. The path is compared percent-encoded, as written. `*` matches any characters except a slash,
  /// `**` any characters.
  ///
  /// ```swift
  /// mock.on(.path("/users/*/posts"), .json("[]"))   // Short form: "/users/*/posts".
  /// mock.on(.path("/assets/**"), .status(.notFound))
  /// ```
  public static func path(_ pattern: String) -> RequestMatcher {
    let wildcards = Wildcards(pattern, separator: "/")
    return RequestMatcher("path \(pattern)") { request in
      wildcards.matches(request.path) ? nil : "its path is \(request.path)"
    }
  }

  /// Matches requests with a query item of this name, and of this value if one is given. Both are compared percent-decoded.
  public static func query(_ name: String, _ value: String? = nil) -> RequestMatcher {
    RequestMatcher("query item \(name)\(value == nil ? "" : " with a value")") { request in
      let values = request.queryValues(for: name)
      if values.isEmpty { return "it has no query item \(name)" }
      return value.map(values.contains) ?? true ? nil : "its query item \(name) has another value"
    }
  }

  /// Matches requests with a header field of this name, and of this value if one is given.
  public static func header(_ name: String, _ value: String? = nil) -> RequestMatcher {
    RequestMatcher("header \(name)\(value == nil ? "" : " with a value")") { request in
      let values = request.headers.values(for: name)
      if values.isEmpty { return "it has no header \(name)" }
      return value.map(values.contains) ?? true ? nil : "its header \(name) has another value"
    }
  }

  /// Matches requests whose body is JSON with the same value as a text. The order of keys and white space are ignored.
  ///
  /// ```swift
  /// mock.on(.method(.post) && "/session" && .body(json: #"{"name": "ada", "password": "secret"}"#), .json("{}"))
  /// ```
  ///
  /// - Precondition: The text is JSON.
  public static func body(json text: String) -> RequestMatcher {
    guard let expected = Data(text.utf8).sortedJSON else {
      preconditionFailure("The text of a matcher is not JSON. Pass valid JSON: \(text)")
    }
    return body("the same JSON") { $0.sortedJSON == expected }
  }

  /// Matches requests whose body is this text in UTF-8. To compare JSON, use `body(json:)`: an encoder may write keys in any
  /// order.
  public static func body(_ text: String) -> RequestMatcher {
    body(Data(text.utf8))
  }

  /// Matches requests whose body is these bytes.
  public static func body(_ data: Data) -> RequestMatcher {
    body("\(data.count) bytes") { $0 == data }
  }

  /// Matches requests for whose body a predicate returns `true`. A body that is not in memory (a file, a stream) does not
  /// match.
  ///
  /// ```swift
  /// mock.on(.body("a user") { (try? JSONDecoder().decode(User.self, from: $0)) != nil }, .status(.created))
  /// ```
  ///
  /// - Parameters:
  ///   - description: A description of the predicate, for errors.
  ///   - test: Receives the bytes, which are empty if there is no body. Called outside every lock, on the thread of the load.
  public static func body(_ description: String, where test: @escaping @Sendable (Data) -> Bool) -> RequestMatcher {
    RequestMatcher("body of \(description)") { request in
      switch request.body.content {
      case .empty: test(Data()) ? nil : "it has no body"
      case .data(let data): test(data) ? nil : "its body differs"
      default: "its body is not in memory"
      }
    }
  }

  /// Matches requests for which a predicate returns `true`.
  ///
  /// - Parameters:
  ///   - description: A description of the predicate, for errors.
  ///   - test: Receives the request. Called outside every lock, on the thread of the load.
  public static func matching(
    _ description: String, _ test: @escaping @Sendable (HTTPRequest) -> Bool
  ) -> RequestMatcher {
    RequestMatcher(description) { test($0) ? nil : "it is not \(description)" }
  }
}

extension HTTPRequest {
  fileprivate func queryValues(for name: String) -> [String] {
    (query ?? "").split(separator: "&").compactMap { item in
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map { $0.removingPercentEncoding ?? String($0) }
      return parts.first == name ? parts.dropFirst().first ?? "" : nil
    }
  }
}

extension Data {
  /// The JSON value with sorted keys and without white space. `nil` if the bytes are not JSON.
  fileprivate var sortedJSON: Data? {
    (try? JSONSerialization.jsonObject(with: self, options: .fragmentsAllowed)).flatMap { value in
      try? JSONSerialization.data(withJSONObject: value, options: [.sortedKeys, .fragmentsAllowed])
    }
  }
}
