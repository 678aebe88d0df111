/// Whether a request may share its load with identical ones, as an option of the request.
///
/// ```swift
/// poll[option: RequestCoalescing.self] = .never            // Each answer is wanted.
/// search[option: RequestCoalescing.self] = .key("search")  // A POST that changes nothing.
/// ```
public struct RequestCoalescing: HTTPRequestOption, Sendable, Hashable {
  enum Rule: Sendable, Hashable {
    case automatic
    case never
    case key(String)
  }

  let rule: Rule

  /// It may if its method is safe (RFC 9110, section 9.2.1) and it has no body.
  public static let automatic = RequestCoalescing(rule: .automatic)

  /// It has a load of its own.
  public static let never = RequestCoalescing(rule: .never)

  /// It may, whatever its method and its body are, with requests of the same key. All else that is compared is compared all
  /// the same, but for a body that is a stream: for its bytes the key stands.
  public static func key(_ key: String) -> RequestCoalescing { RequestCoalescing(rule: .key(key)) }

  /// `automatic`.
  public static var defaultValue: RequestCoalescing { .automatic }
}
