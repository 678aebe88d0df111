extension Redirect {
  /// A redirect that the rules allow, before it is followed.
  public struct Proposal: Sendable {
    /// The response that redirects the request.
    public let response: HTTPResponse
    /// The request that would be sent next: with its whole URL, and without parts that must not be sent to that origin.
    public let request: HTTPRequest
    /// The number of the redirect in this load, counted from 1.
    public let number: Int
  }

  /// The decision about a proposal.
  public enum Decision: Sendable {
    /// Sends a request: the proposed one, or a modified one.
    case follow(HTTPRequest)
    /// Returns the response of the proposal without following it.
    case stop
  }

  /// A policy that decides which redirects are followed.
  ///
  /// ```swift
  /// let api = Redirect(policy: .init { proposal in
  ///   proposal.request.url?.host == "example.com" ? .follow(proposal.request) : .stop
  /// }) --> SystemLoader()
  /// ```
  public struct Policy: Sendable {
    let decide: @Sendable (Proposal) throws -> Decision

    /// Creates a policy from a closure.
    ///
    /// The closure is called outside every lock, on the thread on which the response arrived. It is called once for each
    /// redirect, and never after a cancellation request. If it throws an error, the load fails with it.
    ///
    /// The same rules apply to the request that the closure returns: it has a URL, does not lead from `https` to `http`,
    /// and has a body that can be sent again. If it leads to another origin than the previous request, the credentials of
    /// the previous request are removed, in whichever fields they appear. Values that the policy sets itself are kept.
    public init(_ decide: @escaping @Sendable (Proposal) throws -> Decision) {
      self.decide = decide
    }

    /// Follows every redirect that the rules allow.
    public static let follow = Policy { .follow($0.request) }
  }
}

/// A request option that determines how `Redirect` handles the redirects of the request.
///
/// ```swift
/// request.redirects = .off  // The load returns a 302.
/// ```
public enum RequestRedirects: HTTPRequestOption, Sendable, Hashable {
  /// Uses the configuration of the layer.
  case standard
  /// Follows at most this many redirects. Negative values are treated as 0.
  case limit(Int)
  /// Follows no redirects. The redirect response is returned.
  case off

  /// Defaults to `standard`.
  public static var defaultValue: RequestRedirects { .standard }
}

extension HTTPRequest {
  /// Whether `Redirect` follows the redirects of this request.
  public var redirects: RequestRedirects {
    get { self[option: RequestRedirects.self] }
    set { self[option: RequestRedirects.self] = newValue }
  }
}

/// A redirect that was followed.
public struct Redirection: Sendable, Hashable, CustomStringConvertible {
  /// The method of the redirected request.
  public let method: HTTPMethod
  /// The URL of the redirected request.
  public let url: HTTPURL
  /// The status of the redirect.
  public let status: HTTPStatus

  /// The status, the method and the URL, without the query, which may contain secrets.
  public var description: String { "\(status) for \(method) \(url)" }
}

/// The redirects that were followed up to this request.
enum RedirectTrail: HTTPRequestOption {
  static var defaultValue: [Redirection] { [] }
}

extension HTTPResponse {
  /// The redirects that led to this response, in order. Empty if there were none.
  ///
  /// ```swift
  /// let first = response.redirections.first?.url ?? response.request.url
  /// ```
  public var redirections: [Redirection] { request[option: RedirectTrail.self] }
}
