import Foundation

/// An error of a request or of its response.
///
/// ```swift
/// api.load(request).recover { error in
///   guard let error = error as? HTTPError, error.code == .timedOut else { throw error }
///   return cachedResponse
/// }
/// ```
///
/// The description names the part that is at fault and contains no secrets: no query, no body, and no header values
/// except content types.
public struct HTTPError: Error, Sendable {
  /// The kind of an error. Later versions may add codes.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name of the code, such as `timedOut`. It contains no secrets and is suitable for metrics.
    public let description: String

    /// Creates a code for an error that no existing code describes.
    ///
    /// ```swift
    /// extension HTTPError.Code {
    ///   static let recordingMissing = HTTPError.Code("Replay.recordingMissing")
    /// }
    /// ```
    ///
    /// Codes with the same name are equal. Begin the name with the name of your module and a period, because later
    /// versions may add names without a period. The name is printed and measured, so it must contain no secrets and no
    /// part of a message.
    public init(_ name: String) {
      description = name
    }
  }

  /// The kind of the error.
  public let code: Code

  /// What failed, why, and what to do.
  public let message: String

  /// The error that the platform reported, or `nil`. Its description may contain secrets: do not print it.
  public let underlying: (any Error)?

  /// The response that caused the error, with its whole body, or `nil`. It is never printed.
  public let response: HTTPResponse?

  /// Creates an error. Custom layers and loaders can use the existing codes.
  public init(_ code: Code, _ message: String, response: HTTPResponse? = nil, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.response = response
    self.underlying = underlying
  }

  /// Returns this error with the name of a request before its message, unless the message already contains the name.
  ///
  /// ```swift
  /// throw HTTPError(.cannotConnect, "All ports are in use. Load again.").naming(request)
  /// ```
  ///
  /// A transport names the request in each error, so that a log of many loads is readable. The name is
  /// `HTTPRequest.description`, which contains no secrets; long names are shortened. The message becomes one line.
  public func naming(_ request: HTTPRequest) -> HTTPError {
    let name = request.description
    guard !message.contains(name) else { return self }
    return HTTPError(
      code, "\(OneLine.text(name, limit: 300)): \(OneLine.text(message))", response: response, underlying: underlying)
  }

  /// Returns the same error with another response.
  func replacingResponse(_ response: HTTPResponse?) -> HTTPError {
    HTTPError(code, message, response: response, underlying: underlying)
  }
}

// MARK: - Requests that are refused before they are sent

extension HTTPError.Code {
  /// The method is not a token.
  public static let invalidMethod = HTTPError.Code("invalidMethod")
  /// The URL is not a plain absolute URL with the scheme `http` or `https`.
  public static let invalidURL = HTTPError.Code("invalidURL")
  /// The name of a header is not a token.
  public static let invalidHeaderName = HTTPError.Code("invalidHeaderName")
  /// The value of a header contains a byte that could end the field.
  public static let invalidHeaderValue = HTTPError.Code("invalidHeaderValue")
  /// The header is reserved for the transport: it frames or routes the message.
  public static let forbiddenHeader = HTTPError.Code("forbiddenHeader")
  /// The method does not allow a body.
  public static let forbiddenBody = HTTPError.Code("forbiddenBody")
  /// The body cannot be read: its file is missing or is not a regular file, or its stream failed.
  public static let unreadableBody = HTTPError.Code("unreadableBody")
  /// The body has fewer or more bytes than announced: its file changed, or its length was wrong.
  public static let wrongBodyLength = HTTPError.Code("wrongBodyLength")
  /// The transport cannot send fields after the body.
  public static let unsupportedTrailers = HTTPError.Code("unsupportedTrailers")
  /// A value cannot be encoded for the body.
  public static let unencodableBody = HTTPError.Code("unencodableBody")
  /// A `curl` command is no request, or has an option that a request cannot carry.
  public static let invalidCommand = HTTPError.Code("invalidCommand")
  /// The request names no host, and no layer filled one in.
  public static let missingHost = HTTPError.Code("missingHost")
}

// MARK: - Connections

extension HTTPError.Code {
  /// The host has no address.
  public static let unknownHost = HTTPError.Code("unknownHost")
  /// No server listens at the address, or the address cannot be reached.
  public static let cannotConnect = HTTPError.Code("cannotConnect")
  /// No secure connection could be established, or the identity of the server could not be verified.
  public static let insecureConnection = HTTPError.Code("insecureConnection")
  /// The connection was closed before the response was complete.
  public static let connectionLost = HTTPError.Code("connectionLost")
  /// The time limit was exceeded.
  public static let timedOut = HTTPError.Code("timedOut")
  /// The body must be sent again, after a closed connection or a redirect, but can be sent only once.
  public static let bodyNotReplayable = HTTPError.Code("bodyNotReplayable")
  /// A property of a `URLSessionConfiguration` has a value that the loader cannot or must not apply.
  public static let invalidConfiguration = HTTPError.Code("invalidConfiguration")
  /// The platform reported another error.
  public static let transportFailed = HTTPError.Code("transportFailed")
}

// MARK: - Chains and responses

extension HTTPError.Code {
  /// The chain is being reset.
  public static let resetInProgress = HTTPError.Code("resetInProgress")
  /// The deadline carried by the request passed, or cannot be met.
  public static let deadlineExceeded = HTTPError.Code("deadlineExceeded")
  /// The request queue is full.
  public static let queueFull = HTTPError.Code("queueFull")
  /// Requests to the origin failed, so that `CircuitBreaker` sends no further request for some time.
  public static let circuitOpen = HTTPError.Code("circuitOpen")
  /// The body of a response is in a file and not in memory.
  public static let bodyInFile = HTTPError.Code("bodyInFile")
  /// The body of a response is a stream and not in memory.
  public static let bodyInStream = HTTPError.Code("bodyInStream")
  /// A layer cannot read or write its data on the disk.
  public static let storeFailed = HTTPError.Code("storeFailed")
  /// The cache has no usable response, and the request must not be sent.
  public static let notCached = HTTPError.Code("notCached")
}

// MARK: - Streams

extension HTTPError.Code {
  /// The reader of a stream is slower than the server, and the transport cannot pause the server.
  public static let streamOverflow = HTTPError.Code("streamOverflow")
  /// A stream was not read for the time that its delivery allows.
  public static let bodyNotRead = HTTPError.Code("bodyNotRead")
  /// The stream of a body, or a sequence of events, was iterated twice.
  public static let bodyAlreadyRead = HTTPError.Code("bodyAlreadyRead")
  /// A line of a body is longer than the limit.
  public static let lineTooLong = HTTPError.Code("lineTooLong")
  /// An event or a line of a stream of events is longer than the limit.
  public static let eventTooLarge = HTTPError.Code("eventTooLarge")
  /// The reconnection of a sequence of events led to another origin. `HTTPError.response` has the response.
  public static let eventsAtOtherOrigin = HTTPError.Code("eventsAtOtherOrigin")
  /// The rest of a body belongs to another representation than its beginning. `HTTPError.response` has the response.
  public static let representationChanged = HTTPError.Code("representationChanged")
  /// The request for the rest of a body led to another origin. `HTTPError.response` has the response.
  public static let resumedAtOtherOrigin = HTTPError.Code("resumedAtOtherOrigin")
}

// MARK: - Credentials

extension HTTPError.Code {
  /// A user name, a password or a token cannot be sent as it is.
  public static let invalidCredentials = HTTPError.Code("invalidCredentials")
  /// Credentials would be sent over a connection that others can read.
  public static let insecureCredentials = HTTPError.Code("insecureCredentials")
  /// The provider of the credentials failed, or the refresh of a token. `response` has the response that refused the
  /// credentials; it is `nil` if no server refused them, for example without a connection.
  public static let credentialsUnavailable = HTTPError.Code("credentialsUnavailable")
}

// MARK: - Responses that cannot be trusted

extension HTTPError.Code {
  /// The response is not HTTP, or has header fields that the platform cannot read.
  public static let invalidResponse = HTTPError.Code("invalidResponse")
  /// The body ended before its declared length, or before its last chunk.
  public static let truncatedBody = HTTPError.Code("truncatedBody")
  /// The headers do not define clearly where the body ends, or data follows the end of the body.
  public static let ambiguousBody = HTTPError.Code("ambiguousBody")
  /// The body is longer than the limit of the loader.
  public static let bodyTooLarge = HTTPError.Code("bodyTooLarge")
  /// The body cannot be written to the requested file.
  public static let unwritableBody = HTTPError.Code("unwritableBody")
  /// The body has an encoding that the loader does not accept, or that the platform cannot decode.
  public static let encodedBody = HTTPError.Code("encodedBody")
}

// MARK: - Responses that the caller does not accept

extension HTTPError.Code {
  /// The caller does not accept the status. `HTTPError.response` has the response.
  public static let unacceptableStatus = HTTPError.Code("unacceptableStatus")
  /// The caller does not accept the content type. `HTTPError.response` has the response.
  public static let unacceptableContentType = HTTPError.Code("unacceptableContentType")
  /// The body, or one of its lines, cannot be decoded as the requested type. `HTTPError.response` has the response if the
  /// whole body was decoded.
  public static let undecodableBody = HTTPError.Code("undecodableBody")
}

// MARK: - Redirects

extension HTTPError.Code {
  /// The limit of redirects was exceeded. `HTTPError.response` has the last response.
  public static let tooManyRedirects = HTTPError.Code("tooManyRedirects")
  /// A redirect leads from `https` to `http`. `HTTPError.response` has the response.
  public static let insecureRedirect = HTTPError.Code("insecureRedirect")
  /// A redirect has an invalid target. `HTTPError.response` has the response, if its body arrived.
  public static let invalidRedirect = HTTPError.Code("invalidRedirect")
}

// MARK: - Pages

extension HTTPError.Code {
  /// There are more pages than the limit of the sequence. `HTTPError.response` has the last page.
  public static let tooManyPages = HTTPError.Code("tooManyPages")
  /// A page leads to another origin, or from `https` to `http`. `HTTPError.response` has the page.
  public static let pageAtOtherOrigin = HTTPError.Code("pageAtOtherOrigin")
  /// A field `Link` is malformed or has an invalid target. `HTTPError.response` has the response.
  public static let invalidLink = HTTPError.Code("invalidLink")
}

extension HTTPError: CustomStringConvertible, CustomReflectable {
  /// The code and the message.
  public var description: String { "\(code): \(message)" }

  /// The code and the message, without the response and the underlying error.
  public var customMirror: Mirror {
    Mirror(self, children: ["code": code.description, "message": message], displayStyle: .struct)
  }
}

extension HTTPError: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}
