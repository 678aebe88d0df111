/// A request option that determines whether identical requests may share one load.
///
/// ```swift
/// poll.coalescing = .never            // Each poll needs its own response.
/// search.coalescing = .key("search")  // A POST that changes nothing.
/// ```
public struct RequestCoalescing: HTTPRequestOption, Sendable, Hashable {
  enum Rule: Sendable, Hashable {
    case automatic
    case never
    case key(String)
  }

  let rule: Rule

  /// Shares the load if the method is safe (RFC 9110, section 9.2.1) and there is no body.
  public static let automatic = RequestCoalescing(rule: .automatic)

  /// Never shares the load.
  public static let never = RequestCoalescing(rule: .never)

  /// Shares the load with requests of the same key, regardless of the method and the body. Everything else is compared
  /// as usual. The bytes of a stream are not compared: the key represents them.
  public static func key(_ key: String) -> RequestCoalescing { RequestCoalescing(rule: .key(key)) }

  /// Defaults to `automatic`.
  public static var defaultValue: RequestCoalescing { .automatic }
}

extension HTTPRequest {
  /// Whether `Coalesce` may share this load with identical requests.
  public var coalescing: RequestCoalescing {
    get { self[option: RequestCoalescing.self] }
    set { self[option: RequestCoalescing.self] = newValue }
  }
}
