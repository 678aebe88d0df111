/// A request option that determines whether the transport waits for the consent of the server before it sends the body
/// (RFC 9110, section 10.1.1).
///
/// ```swift
/// request.expectsContinue = true  // `Expect: 100-continue`
/// request.body = .file(URL(fileURLWithPath: "film.mp4"), contentType: "video/mp4")
/// ```
///
/// A server that refuses the request responds at once, and the body is neither read nor sent. That saves an upload that is
/// redirected, lacks credentials or is too large. Its connection is closed. A server that does not know the field says nothing: the
/// body is sent after one second. A server that refuses the expectation itself responds with 417 (Expectation Failed), whose body is
/// lost if the connection stays open. Load such a request again without the option.
///
/// `CurlLoader` supports the option with libcurl 7.80 or later, and sends such a request over HTTP/1.1. `AsyncHTTPClientLoader` supports
/// it. `URLSession` ignores it, and so do requests without bytes to send: the body is sent at once.
public enum RequestExpectation: HTTPRequestOption {
  /// The body is sent at once.
  public static var defaultValue: Bool { false }
}

extension HTTPRequest {
  /// Whether the body of this request waits for the consent of the server.
  public var expectsContinue: Bool {
    get { self[option: RequestExpectation.self] }
    set { self[option: RequestExpectation.self] = newValue }
  }
}
