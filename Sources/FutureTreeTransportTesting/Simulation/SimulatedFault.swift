import FutureTreeHTTPTesting

/// A fault of a simulated network, server, date or disk.
public enum SimulatedFault: String, Sendable, CaseIterable, Hashable {
  // MARK: The connection

  /// The name of the host is unknown.
  case unknownHost
  /// The host refuses the connection.
  case connectionRefused
  /// The certificate of the server is for another host.
  case tlsFailure
  /// The server closes the connection before the request is sent.
  case closedAtAccept
  /// The server closes the connection after the request.
  case closedAfterRequest
  /// The server closes the connection while the body of the request is sent.
  case closedInRequestBody
  /// The connection is reset before the head of the response.
  case resetBeforeHead
  /// The connection is reset in the body of the response.
  case resetInBody
  /// The server closes its side of the connection before the head.
  case halfClosedBeforeHead
  /// The server closes its side of the connection at any byte of the body.
  case halfClosedInBody
  /// Nothing arrives after the request.
  case stalledBeforeHead
  /// Nothing arrives after a part of the body.
  case stalledInBody
  /// The head arrives after 20 seconds.
  case slowHead
  /// The body arrives slowly: 64 bytes in half a second.
  case slowBody
  /// The latency is up to 5 seconds, so that responses arrive in another order than their requests.
  case reordered
  /// The connection closes 1.5 seconds after a cancellation.
  case slowClose
  /// The connection does not react to a cancellation.
  case ignoresCancellation

  // MARK: The framing of the response

  /// A hundred informational heads arrive before the final one.
  case manyInformationalHeads
  /// The head is invalid.
  case garbageHead
  /// The head is too large.
  case hugeHead
  /// The response declares two lengths.
  case conflictingLengths
  /// The body is longer than declared.
  case bodyTooLong
  /// A chunk of the body is invalid.
  case badChunk
  /// The body has an unknown encoding.
  case unknownEncoding
  /// A response with the status 204 has a body.
  case bodyOnNoContent

  // MARK: The calls of the transport

  /// The transport reports its end twice, and a response after its end.
  case reportsTwice
  /// The transport reports a response after its end.
  case reportsAfterEnd
  /// The transport reports the first events during the call that begins the load.
  case answersInline

  // MARK: The answer

  /// Each answer redirects again.
  case redirectLoop
  /// The answer redirects to another origin.
  case redirectToOtherOrigin
  /// The answer redirects from HTTPS to HTTP.
  case redirectDowngrade
  /// The answer redirects to a file.
  case redirectBadScheme
  /// The answer is a redirect without a location.
  case redirectWithoutLocation
  /// The answer has the status 401.
  case unauthorized
  /// The answer has the status 503 and a valid or invalid `Retry-After`.
  case serverUnavailable
  /// The answer has the status 429 and a valid or invalid `Retry-After`.
  case tooManyRequests

  // MARK: The surroundings

  /// The date jumps forward by a day.
  case wallClockForward
  /// The date jumps back by a day.
  case wallClockBackward
  /// Writes to files of the package fail for a time, because the disk is full.
  case diskFull
  /// Reads of files of the package fail for a time.
  case diskUnreadable
  /// The bodies of requests cannot be read for a time.
  case bodySourceThrows

  /// Whether the fault is that of one exchange of the network.
  var isOfExchange: Bool {
    switch self {
    case .wallClockForward, .wallClockBackward, .diskFull, .diskUnreadable, .bodySourceThrows: false
    default: true
    }
  }
}
