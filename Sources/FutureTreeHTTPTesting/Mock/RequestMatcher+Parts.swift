import Foundation
import FutureTreeHTTP

extension RequestMatcher {
  /// Requests with one of these methods.
  public static func method(_ methods: HTTPMethod...) -> RequestMatcher {
    RequestMatcher("method \(methods.map(\.name).joined(separator: " or "))") { request in
      methods.contains(request.method) ? nil : "its method is \(request.method)"
    }
  }

  /// Requests to a host. `*` stands for any characters except a dot, `**` for any characters; case does not matter.
  public static func host(_ pattern: String) -> RequestMatcher {
    let wildcards = Wildcards(pattern.lowercased(), separator: ".")
    return RequestMatcher("host \(pattern)") { request in
      guard let host = request.url?.host else { return "it has no host" }
      return wildcards.matches(host) ? nil : "its host is \(host)"
    }
  }

  /// Requests with a path, compared as it was written, percent-encoded. `*` stands for any characters except a slash, `**`
  /// for any characters.
  ///
  /// ```swift
  /// mock.on(.path("/users/*/posts"), .json("[]"))   // Also "/users/*/posts" alone: a text is a path.
  /// mock.on(.path("/assets/**"), .status(.notFound))
  /// ```
  public static func path(_ pattern: String) -> RequestMatcher {
    let wildcards = Wildcards(pattern, separator: "/")
    return RequestMatcher("path \(pattern)") { request in
      wildcards.matches(request.path) ? nil : "its path is \(request.path)"
    }
  }

  /// Requests with a query item of this name, and of this value if one is given. Both are compared percent-decoded.
  public static func query(_ name: String, _ value: String? = nil) -> RequestMatcher {
    RequestMatcher("query item \(name)\(value == nil ? "" : " with a value")") { request in
      let values = request.queryValues(for: name)
      if values.isEmpty { return "it has no query item \(name)" }
      return value.map(values.contains) ?? true ? nil : "its query item \(name) has another value"
    }
  }

  /// Requests with a header field of this name, and of this value if one is given.
  public static func header(_ name: String, _ value: String? = nil) -> RequestMatcher {
    RequestMatcher("header \(name)\(value == nil ? "" : " with a value")") { request in
      let values = request.headers.values(for: name)
      if values.isEmpty { return "it has no header \(name)" }
      return value.map(values.contains) ?? true ? nil : "its header \(name) has another value"
    }
  }

  /// Requests whose body is this text in UTF-8.
  public static func body(_ text: String) -> RequestMatcher {
    body(Data(text.utf8))
  }

  /// Requests whose body is these bytes.
  public static func body(_ data: Data) -> RequestMatcher {
    body("\(data.count) bytes") { $0 == data }
  }

  /// Requests whose body passes a test. A body that is not in memory (a file, a stream) does not match.
  ///
  /// ```swift
  /// mock.on(.body("a user") { (try? JSONDecoder().decode(User.self, from: $0)) != nil }, .status(.created))
  /// ```
  ///
  /// - Parameters:
  ///   - description: says what the test wants, for errors.
  ///   - test: gets the bytes; none if there is no body. It is called outside every lock, on the thread of the load.
  public static func body(_ description: String, where test: @escaping @Sendable (Data) -> Bool) -> RequestMatcher {
    RequestMatcher("body of \(description)") { request in
      switch request.body.content {
      case .empty: test(Data()) ? nil : "it has no body"
      case .data(let data): test(data) ? nil : "its body differs"
      default: "its body is not in memory"
      }
    }
  }

  /// Requests that pass a test.
  ///
  /// - Parameters:
  ///   - description: says what the test wants, for errors.
  ///   - test: is called outside every lock, on the thread of the load.
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
