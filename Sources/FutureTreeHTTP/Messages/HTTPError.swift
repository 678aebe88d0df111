import Foundation

/// What went wrong with a request or with its answer.
///
/// ```swift
/// api.load(request).recover { error in
///   guard let error = error as? HTTPError, error.code == .timedOut else { throw error }
///   return cachedResponse
/// }
/// ```
///
/// What it prints names the part at fault and never its secrets: no query, no body, and no header values but content types.
public struct HTTPError: Error, Sendable {
  /// What went wrong, to tell cases apart. Later versions may add codes.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name of the code, such as `timedOut`; it holds no secrets and suits a metric.
    public let description: String

    /// Creates a code for what no existing code says.
    ///
    /// ```swift
    /// extension HTTPError.Code {
    ///   static let recordingMissing = HTTPError.Code("Replay.recordingMissing")
    /// }
    /// ```
    ///
    /// Codes are equal if their names are. Begin the name with that of your module and a period: later versions may add
    /// names without one. The name is printed and measured, so it must hold no secret and no part of a message.
    public init(_ name: String) {
      description = name
    }
  }

  /// What went wrong.
  public let code: Code

  /// What is wrong, where, and what to do about it.
  public let message: String

  /// What the platform reported, if it reported anything. Its own description may hold secrets: do not print it.
  public let underlying: (any Error)?

  /// The answer that is at fault, with its body, if there is a whole one. It is not printed.
  public let response: HTTPResponse?

  /// An error; layers and loaders of your own may use the codes that are here.
  public init(_ code: Code, _ message: String, response: HTTPResponse? = nil, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.response = response
    self.underlying = underlying
  }

  /// Returns this error with the name of a request in front of its message, unless the message has it.
  ///
  /// ```swift
  /// throw HTTPError(.cannotConnect, "All ports are in use. Load again.").naming(request)
  /// ```
  ///
  /// A transport names the request of each error, so that a log of many loads can be read. The name is that of
  /// `HTTPRequest.description`, without secrets, and is shortened if it is long. The message becomes one line.
  public func naming(_ request: HTTPRequest) -> HTTPError {
    let name = request.description
    guard !message.contains(name) else { return self }
    return HTTPError(
      code, "\(OneLine.text(name, limit: 300)): \(OneLine.text(message))", response: response, underlying: underlying)
  }

  /// The same error, with another answer.
  func replacingResponse(_ response: HTTPResponse?) -> HTTPError {
    HTTPError(code, message, response: response, underlying: underlying)
  }
}

// MARK: - Requests that are refused before anything is sent

extension HTTPError.Code {
  /// The method is not a token.
  public static let invalidMethod = HTTPError.Code("invalidMethod")
  /// The URL is not a plain absolute URL of the scheme http or https.
  public static let invalidURL = HTTPError.Code("invalidURL")
  /// The name of a header is not a token.
  public static let invalidHeaderName = HTTPError.Code("invalidHeaderName")
  /// The value of a header has a byte that could end the field.
  public static let invalidHeaderValue = HTTPError.Code("invalidHeaderValue")
  /// The header belongs to the transport: it says where the message ends, or whom it is for.
  public static let forbiddenHeader = HTTPError.Code("forbiddenHeader")
  /// The method does not allow a body.
  public static let forbiddenBody = HTTPError.Code("forbiddenBody")
  /// The body cannot be read: its file is missing or no plain file, or its source failed.
  public static let unreadableBody = HTTPError.Code("unreadableBody")
  /// The body has fewer or more bytes than were announced: its file changed, or its length was wrong.
  public static let wrongBodyLength = HTTPError.Code("wrongBodyLength")
  /// A value cannot be encoded for the body.
  public static let unencodableBody = HTTPError.Code("unencodableBody")
  /// The request names no host, and no layer filled one in.
  public static let missingHost = HTTPError.Code("missingHost")
}

// MARK: - Connections

extension HTTPError.Code {
  /// The host has no address.
  public static let unknownHost = HTTPError.Code("unknownHost")
  /// Nobody listens at the address, or it cannot be reached.
  public static let cannotConnect = HTTPError.Code("cannotConnect")
  /// The peer could not prove who it is.
  public static let insecureConnection = HTTPError.Code("insecureConnection")
  /// The connection was closed before the answer was there.
  public static let connectionLost = HTTPError.Code("connectionLost")
  /// It took longer than it may.
  public static let timedOut = HTTPError.Code("timedOut")
  /// The body of the request would have to be sent again, after a closed connection or a redirect, and can be sent only
  /// once.
  public static let bodyNotReplayable = HTTPError.Code("bodyNotReplayable")
  /// A property of a `URLSessionConfiguration` has a value that a loader cannot apply or must not apply.
  public static let invalidConfiguration = HTTPError.Code("invalidConfiguration")
  /// The platform reported something else.
  public static let transportFailed = HTTPError.Code("transportFailed")
}

// MARK: - Chains and responses

extension HTTPError.Code {
  /// The chain is being reset.
  public static let resetInProgress = HTTPError.Code("resetInProgress")
  /// The deadline that travels with the request passed, or cannot be met.
  public static let deadlineExceeded = HTTPError.Code("deadlineExceeded")
  /// As many requests wait for a place as may.
  public static let queueFull = HTTPError.Code("queueFull")
  /// The body of a response is in a file, and not in memory.
  public static let bodyInFile = HTTPError.Code("bodyInFile")
}

// MARK: - Credentials

extension HTTPError.Code {
  /// A user name, a password or a token cannot be sent as it is.
  public static let invalidCredentials = HTTPError.Code("invalidCredentials")
  /// Credentials would go over a connection that others can read.
  public static let insecureCredentials = HTTPError.Code("insecureCredentials")
  /// What provides the credentials failed.
  public static let credentialsUnavailable = HTTPError.Code("credentialsUnavailable")
}

// MARK: - Answers that cannot be trusted

extension HTTPError.Code {
  /// The answer is not HTTP, or has header fields that the platform cannot read.
  public static let invalidResponse = HTTPError.Code("invalidResponse")
  /// The body ended before the length that was declared, or before its last chunk.
  public static let truncatedBody = HTTPError.Code("truncatedBody")
  /// The headers do not say plainly where the body ends, or the body goes on behind that.
  public static let ambiguousBody = HTTPError.Code("ambiguousBody")
  /// The body is longer than the loader accepts.
  public static let bodyTooLarge = HTTPError.Code("bodyTooLarge")
  /// The body cannot be written to the file that was asked for.
  public static let unwritableBody = HTTPError.Code("unwritableBody")
  /// The body is encoded, so that the platform hides whether it is whole.
  public static let encodedBody = HTTPError.Code("encodedBody")
}

// MARK: - Answers that are not what the caller wants

extension HTTPError.Code {
  /// The status is none that the caller accepts; `HTTPError.response` has the answer.
  public static let unacceptableStatus = HTTPError.Code("unacceptableStatus")
  /// The body is not what it was to be decoded as; `HTTPError.response` has the answer.
  public static let undecodableBody = HTTPError.Code("undecodableBody")
}

// MARK: - Answers that lead elsewhere

extension HTTPError.Code {
  /// More redirects than are followed; `HTTPError.response` has the last answer.
  public static let tooManyRedirects = HTTPError.Code("tooManyRedirects")
  /// A redirect leads from https to http; `HTTPError.response` has the answer.
  public static let insecureRedirect = HTTPError.Code("insecureRedirect")
  /// A redirect leads to where no request can go; `HTTPError.response` has the answer, if its body arrived.
  public static let invalidRedirect = HTTPError.Code("invalidRedirect")
}

extension HTTPError: CustomStringConvertible, CustomReflectable {
  /// Code and message.
  public var description: String { "\(code): \(message)" }

  /// Code and message, without the answer and what the platform reported.
  public var customMirror: Mirror {
    Mirror(self, children: ["code": code.description, "message": message], displayStyle: .struct)
  }
}

extension HTTPError: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}
