/// A fault of a simulated network, server, clock or disk.
public enum SimulatedFault: String, Sendable, CaseIterable, Hashable {
  // The connection.
  case unknownHost, connectionRefused, tlsFailure
  /// The server closes the connection before the request is sent, after it, or while its body is sent.
  case closedAtAccept, closedAfterRequest, closedInRequestBody
  /// The connection is reset before the head, or in the body.
  case resetBeforeHead, resetInBody
  /// The server closes its side of the connection before the head, or at any byte of the body.
  case halfClosedBeforeHead, halfClosedInBody
  /// No data arrives after the request, or after a part of the body.
  case stalledBeforeHead, stalledInBody
  /// The head arrives late. The body arrives slowly.
  case slowHead, slowBody
  /// The latency differs widely, so that responses arrive in another order than their requests.
  case reordered
  /// The connection closes late after a cancellation. The connection does not react to one.
  case slowClose, ignoresCancellation
  // The framing of the response.
  case manyInformationalHeads, garbageHead, hugeHead, conflictingLengths, bodyTooLong, badChunk, unknownEncoding
  case bodyOnNoContent
  // The transport's own calls.
  case reportsTwice, reportsAfterEnd, answersInline
  // The answer.
  case redirectLoop, redirectToOtherOrigin, redirectDowngrade, redirectBadScheme, redirectWithoutLocation
  case unauthorized, serverUnavailable, tooManyRequests
  // The surroundings.
  case wallClockForward, wallClockBackward, diskFull, diskUnreadable, bodySourceThrows

  /// Whether the fault is that of one exchange of the network.
  var isOfExchange: Bool {
    switch self {
    case .wallClockForward, .wallClockBackward, .diskFull, .diskUnreadable, .bodySourceThrows: false
    default: true
    }
  }
}
