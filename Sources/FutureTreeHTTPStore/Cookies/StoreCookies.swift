import FutureTree
import FutureTreeHTTP

/// A layer that sends the cookies of a jar, and stores the cookies that responses set (RFC 6265bis).
///
/// ```swift
/// let jar = CookieJar()
/// let api = ResetGuard() --> Autocancel() --> Redirect() --> StoreCookies(in: jar) --> SystemLoader()
/// ```
///
/// A request that has the header `Cookie` is sent with it and without the cookies of the jar. The cookies of its response are
/// stored. The option `RequestCookies.off` prevents both.
///
/// **Order.** Put the layer after `Redirect` and `Retry`, so that it sees each hop and each attempt: a redirect that sets a cookie
/// and leads to another page is a common form of a login. Each hop gets the cookies of its own host.
///
/// **Cancellation.** The layer holds no requests. Nothing is stored from a response that arrives after a cancellation request, or
/// after the future has completed (the rule *Nothing after completion*).
///
/// **Reset.** All cookies are removed, in memory and in the file. Loads from before store nothing. Put `ResetGuard` or `Autocancel`
/// before the layer: otherwise a redirect or a retry of an old load can store cookies after the reset.
///
/// **Bytes.** A cookie with UTF-8 beyond ASCII is stored, and sent back with the same bytes. A cookie with other bytes beyond ASCII
/// is ignored, because platforms lose them.
///
/// **`URLSession`.** On Linux, the platform joins several `Set-Cookie` fields with commas. They are split where a comma is
/// followed by a name and `=`. A value that contains such a text is split as well. Its parts are parsed separately, and none gets
/// the attributes of another. Servers that follow the grammar (RFC 6265bis, section 4.1) put no commas into values.
///
/// **In two chains.** A reset of either chain removes the cookies of both.
public struct StoreCookies: HTTPLayer {
  private let jar: CookieJar

  /// Creates the layer.
  ///
  /// - Parameter jar: The cookies.
  public init(in jar: CookieJar) {
    self.jar = jar
  }

  /// Loads the request with the cookies for its URL, and stores the cookies of the response.
  ///
  /// - Returns: A future with the outcome of `next`. It fails with the code `missingHost` if the request has only a path.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    guard request.cookies == .standard else { return next.load(request) }
    let url: HTTPURL
    let generation: Int
    var sent = request
    do throws(HTTPError) {
      url = try request.requireURL()
      let header = jar.header(for: url)
      generation = header.generation
      if let value = header.value, !request.headers.contains("Cookie") { try sent.setHeader("Cookie", received: value) }
    } catch {
      return .failed(error.naming(request)).named(.storeCookies)
    }
    return next.load(sent).completed { [jar] outcome, future in
      if case .success(let response) = outcome, !response.marks.contains(.isCached), future.cancelRequest == nil {
        let cookies = response.headers.values(for: "Set-Cookie").compactMap(SetCookie.init)
        if !cookies.isEmpty { jar.store(cookies, from: url, generation: generation) }
      }
      return Completion(outcome)
    }.named(.storeCookies)
  }

  /// Removes all cookies.
  public func wipe(_ notes: ResetNotes) -> Future<Void> { jar.removeAll(notes) }
}

/// A request option that determines whether `StoreCookies` handles the cookies of the request.
///
/// ```swift
/// request.cookies = .off  // Sends no cookies, and stores none.
/// ```
public enum RequestCookies: HTTPRequestOption, Sendable, Hashable {
  /// Sends the cookies of the jar, and stores those of the response.
  case standard
  /// Sends no cookies of the jar, and stores none.
  case off

  /// Defaults to `standard`.
  public static var defaultValue: RequestCookies { .standard }
}

extension HTTPRequest {
  /// The use of `StoreCookies` for this request.
  public var cookies: RequestCookies {
    get { self[option: RequestCookies.self] }
    set { self[option: RequestCookies.self] = newValue }
  }
}

extension FutureName {
  fileprivate static let storeCookies = FutureName("StoreCookies")
}
