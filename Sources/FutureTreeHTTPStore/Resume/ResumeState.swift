import Foundation
import FutureTreeHTTP

/// The memory of a body that is received in several transfers. Pure: sends nothing, sets no timer, reads no clock.
///
/// # Invariants
/// 1. All bytes are of one representation: each response after the first has the strong validator of the first.
/// 2. All bytes are from one origin.
/// 3. The bytes are passed on in order, each once: a response begins at `position`, or its first bytes are skipped.
/// 4. A body of known length is whole at that length, and only there. A part of a body is whole at its end.
struct ResumeState {
  /// The validator of the representation. `nil` if the body cannot be resumed.
  let validator: String?
  /// The origin of the representation. `nil` if the request has no host.
  let origin: String?
  /// The length of the whole body. `nil` if it is not known.
  private(set) var total: Int?
  /// The position of the next byte to pass on.
  private(set) var position = 0
  /// The position after the last byte of a part of the body. `nil` for the whole body.
  let partEnd: Int?
  /// The number of the attempt since the last byte that was passed on, counted from 1.
  private(set) var attempt = 1
  /// The number of bytes of the current response that were passed on before.
  private var repeated = 0
  /// The position at which the current response must end. `nil` if it is not known.
  private var end: Int?

  /// Creates the state of the body of a first response.
  init(_ response: HTTPResponse) {
    let canResume = response.status == .ok && !response.isEncoded && response.allowsRanges
    validator = canResume ? response.strongValidator : nil
    origin = response.origin
    total = canResume ? response.declaredLength : nil
    partEnd = nil
  }

  /// Creates the state of a body of which a part is known from an earlier run, or of a part of a body.
  init(validator: String?, origin: String?, total: Int?, position: Int, partEnd: Int? = nil) {
    self.validator = validator
    self.origin = origin
    self.total = total
    self.position = position
    self.partEnd = partEnd
  }

  /// Returns the request for the rest of the body. The body must have a validator.
  func request(from base: HTTPRequest) throws(HTTPError) -> HTTPRequest {
    var request = base
    try request.setHeader("Range", "bytes=\(position)-" + (partEnd.map { "\($0 - 1)" } ?? ""))
    try request.setHeader("If-Range", received: validator ?? "")
    return request
  }

  /// Whether the body is whole after the transfer of a response has ended, successfully or not.
  func isWhole(after isSuccess: Bool) -> Bool {
    (partEnd ?? total).map { position == $0 } ?? (isSuccess && repeated == 0)
  }

  /// Whether the part is whole, and the current response goes on with the bytes of other parts.
  var hasOnlyOtherParts: Bool { position == partEnd && position < end ?? total ?? 0 }
}

// MARK: - Events

extension ResumeState {
  /// Registers bytes of the current response. Returns those that continue the body.
  ///
  /// - Throws: `HTTPError` with the code `invalidResponse` if the response has more bytes than its range.
  mutating func received(_ bytes: Data) throws(HTTPError) -> Data {
    var new = bytes.dropFirst(repeated)
    repeated -= bytes.count - new.count
    if let end = end ?? total, new.count > end - position {
      throw HTTPError(.invalidResponse, "The response has more bytes than the range that it declares. Fix the server.")
    }
    if let partEnd { new = new.prefix(partEnd - position) }
    position += new.count
    if !new.isEmpty { attempt = 1 }
    return new
  }

  var progress: HTTPProgress.Part { HTTPProgress.Part(completed: position, total: total) }

  /// The error for a response that ended early without an error of its own.
  var truncation: HTTPError {
    HTTPError(.truncatedBody, "The body ended after \(position) of \(total ?? position) bytes. Load again.")
  }

  /// Registers that an attempt has failed.
  mutating func attemptFailed() {
    attempt += 1
  }

  /// Registers the response to a request for the rest of the body.
  ///
  /// - Parameter maximumSize: The maximum number of bytes of the whole body.
  /// - Returns: Whether the response has bytes to read. If it has none, the body is whole.
  /// - Throws: `HTTPError` with the code `resumedAtOtherOrigin`, `representationChanged`, `invalidResponse`, `bodyTooLarge` or
  ///   `unacceptableStatus`.
  mutating func accepts(_ response: HTTPResponse, maximumSize: Int = .max) throws(HTTPError) -> Bool {
    guard response.origin == origin else {
      throw HTTPError(
        .resumedAtOtherOrigin,
        "The request for the rest of the body led to another origin than the beginning, "
          + "\(origin ?? "a request without a host"). Load the resource again if you trust it.", response: response)
    }
    switch response.status {
    case HTTPStatus(206): try acceptPart(response, maximumSize)
    case .ok where partEnd == nil: try acceptWhole(response)
    // The field `If-Range` did not match.
    case .ok: throw changed(response)
    // A precondition of the request did not match, although it matched before.
    case HTTPStatus(412) where partEnd != nil: throw changed(response)
    case HTTPStatus(416):
      // The field `If-Range` matched, because the server would have ignored the range otherwise.
      guard let range = response.contentRange, range.bytes == nil, range.total == position,
        total ?? position == position
      else { throw changed(response) }
      total = position
      return false
    default:
      throw HTTPError(
        .unacceptableStatus,
        "The request for the rest of the body failed with the status \(response.status) after \(position) bytes. "
          + "See `response`.", response: response)
    }
    return true
  }

  private mutating func acceptPart(_ response: HTTPResponse, _ maximumSize: Int) throws(HTTPError) {
    guard let range = response.contentRange, let bytes = range.bytes, let length = range.total,
      bytes.lowerBound == position, !response.isEncoded
    else {
      throw HTTPError(
        .invalidResponse,
        "The response has the status 206, but not the bytes from \(position) with the length of the whole body. "
          + "Fix the server.", response: response)
    }
    // A response to `If-Range` has the entity tag (RFC 9110, section 15.3.7).
    guard isValidated(response), total ?? length == length else { throw changed(response) }
    guard length <= maximumSize else {
      throw HTTPError(
        .bodyTooLarge, "The body has \(length) bytes. The limit is \(maximumSize). Raise the limit.", response: response
      )
    }
    total = length
    (end, repeated) = (bytes.upperBound + 1, 0)
  }

  /// Accepts a response from a server that ignores ranges, if it is the same representation.
  private mutating func acceptWhole(_ response: HTTPResponse) throws(HTTPError) {
    let length = response.declaredLength
    guard isValidated(response), !response.isEncoded,
      total == nil || length == nil || total == length, position <= length ?? position
    else { throw changed(response) }
    total = total ?? length
    (end, repeated) = (total, position)
  }

  /// Whether a response has the validator of the body.
  private func isValidated(_ response: HTTPResponse) -> Bool {
    guard let validator, let other = response.strongValidator else { return false }
    return FieldSyntax.haveSameBytes(validator, other)
  }

  private func changed(_ response: HTTPResponse) -> HTTPError {
    HTTPError(
      .representationChanged,
      "The resource changed while it was received: the rest after \(position) bytes belongs to another representation. "
        + "Load it again from the beginning.", response: response)
  }
}

// MARK: - Fields

extension HTTPResponse {
  /// The entity tag, if it is a strong validator (RFC 9110, section 8.8.3).
  var strongValidator: String? {
    let tags = headers.values(for: "ETag")
    guard tags.count == 1, let tag = tags.first, tag.utf8.count >= 2, tag.hasPrefix("\""), tag.hasSuffix("\"") else {
      return nil
    }
    return tag.dropFirst().dropLast().contains("\"") ? nil : tag
  }

  /// Whether the bytes are not those of the representation, but encoded or decoded.
  var isEncoded: Bool { headers.contains("Content-Encoding") || marks.contains(.isDecoded) }

  var contentRange: ContentRange? {
    let values = headers.values(for: "Content-Range")
    return values.count == 1 ? ContentRange(values[0]) : nil
  }

  /// The length of the body, if the response declares it. A transport has checked it.
  fileprivate var declaredLength: Int? { headers["Content-Length"].flatMap { Int($0) } }

  /// Whether the server does not refuse ranges (RFC 9110, section 14.3).
  fileprivate var allowsRanges: Bool {
    !FieldSyntax.elements(of: headers["Accept-Ranges"] ?? "").contains { $0.lowercased() == "none" }
  }

  var origin: String? { request.url?.origin }
}

/// The range of a representation that a response contains (RFC 9110, section 14.4).
struct ContentRange: Equatable {
  /// The positions of the bytes. `nil` if the server could not satisfy the range.
  let bytes: ClosedRange<Int>?
  /// The length of the whole representation. `nil` if the server does not know it.
  let total: Int?

  /// Parses the value of `Content-Range`. Returns `nil` if it is malformed, contradictory or has another unit than bytes.
  init?(_ value: String) {
    var reader = Reader(bytes: Array(value.utf8))
    guard reader.text(while: FieldSyntax.isTokenByte).lowercased() == "bytes", reader.take(0x20) else { return nil }
    if reader.take(UInt8(ascii: "*")) {
      bytes = nil
    } else {
      guard let first = reader.number(), reader.take(UInt8(ascii: "-")), let last = reader.number(), first <= last
      else {
        return nil
      }
      bytes = first...last
    }
    guard reader.take(UInt8(ascii: "/")) else { return nil }
    total = reader.take(UInt8(ascii: "*")) ? nil : reader.number()
    guard reader.current == nil, reader.isValid else { return nil }
    if let bytes, let total, bytes.upperBound >= total { return nil }
    if bytes == nil, total == nil { return nil }
  }

  private struct Reader: ByteReader {
    let bytes: [UInt8]
    var position = 0
    private(set) var isValid = true

    init(bytes: [UInt8]) {
      self.bytes = bytes
    }

    mutating func number() -> Int? {
      let number = Int(text(while: ASCII.isDigit))
      isValid = isValid && number != nil
      return number
    }
  }
}
