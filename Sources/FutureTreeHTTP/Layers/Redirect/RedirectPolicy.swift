extension Redirect {
  /// A redirect that the rules allow, before it is followed.
  public struct Proposal: Sendable {
    /// The answer that sends the request elsewhere.
    public let response: HTTPResponse
    /// What would be sent next: with the whole URL, and without what must not go there.
    public let request: HTTPRequest
    /// Which redirect of this load it is, counted from 1.
    public let number: Int
  }

  /// What becomes of a proposal.
  public enum Decision: Sendable {
    /// Sends a request: the one of the proposal, or a changed one.
    case follow(HTTPRequest)
    /// Takes the answer of the proposal for the answer.
    case stop
  }

  /// Decides which redirects are followed.
  ///
  /// ```swift
  /// let api = Redirect(policy: .init { proposal in
  ///   proposal.request.url?.host == "example.com" ? .follow(proposal.request) : .stop
  /// }) --> URLSessionLoader()
  /// ```
  public struct Policy: Sendable {
    let decide: @Sendable (Proposal) throws -> Decision

    /// A policy of your own.
    ///
    /// It is called outside every lock, on the thread on which the answer arrived, once for each redirect and never after a
    /// request to cancel. What it throws fails the load.
    ///
    /// The request that it returns is held to the same rules: it has a URL, none of http after https, and a body that can be
    /// sent again. If it goes to another origin than the one before, it loses the credentials of that one, whatever they
    /// were in; a value that the policy sets itself is kept.
    public init(_ decide: @escaping @Sendable (Proposal) throws -> Decision) {
      self.decide = decide
    }

    /// Follows every redirect that the rules allow.
    public static let follow = Policy { .follow($0.request) }
  }
}

/// What becomes of the redirects of one request, as an option of it.
///
/// ```swift
/// request[option: RequestRedirects.self] = .off  // A 302 is the answer.
/// ```
public enum RequestRedirects: HTTPRequestOption, Sendable, Hashable {
  /// As the layer is configured.
  case standard
  /// At most this many are followed; a negative number counts as zero.
  case limit(Int)
  /// None is followed: the answer that redirects is the answer.
  case off

  /// As the layer is configured.
  public static var defaultValue: RequestRedirects { .standard }
}

/// One redirect that was followed.
public struct Redirection: Sendable, Hashable, CustomStringConvertible {
  /// What was asked.
  public let method: HTTPMethod
  /// Where.
  public let url: HTTPURL
  /// The status that sent it elsewhere.
  public let status: HTTPStatus

  /// Status, method and URL, without the query, which may hold secrets.
  public var description: String { "\(status) for \(method) \(url)" }
}

/// The redirects that were followed for the answer to this request.
enum RedirectTrail: HTTPRequestOption {
  static var defaultValue: [Redirection] { [] }
}

extension HTTPResponse {
  /// The redirects that led to this answer, in order: what was asked first stands first. Empty if there were none.
  ///
  /// ```swift
  /// let first = response.redirections.first?.url ?? response.request.url
  /// ```
  public var redirections: [Redirection] { request[option: RedirectTrail.self] }
}
