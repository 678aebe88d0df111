import Foundation
import FutureTree

/// A receiver for the response of one load. It checks the body, and stores it where the request specifies.
///
/// ```swift
/// var receiver = try ResponseReceiver(for: request, maximumSize: 64 << 20)
/// try receiver.receiveHead(.ok, [("Content-Length", "5")])
/// try receiver.receive(Data("hello".utf8))
/// let response = try receiver.finish()
/// ```
///
/// A transport creates one receiver for each load before it sends the request, and passes all received data to it. Then
/// the following rules hold for every transport:
///
/// - A body that is truncated, too long or ambiguous is an error. A body is ambiguous if its header fields do not define
///   its end clearly (RFC 9112, section 6.3).
/// - The size of a body is limited by the request or the transport.
/// - A body is delivered in memory, in a file or as a stream, as `ResponseDelivery` specifies. Only a complete body gets
///   the final name of the file. If the receiver is dropped, it removes its temporary file, and its stream fails.
/// - Header fields with invalid values are omitted from the response. Values beyond ASCII are kept.
/// - Errors name the request and contain no secrets.
///
/// The transport is responsible for one rule. Only the transport knows the end of a body without a declared length. If a
/// chunked body ends before its last chunk, the transport must report an error instead of calling `finish()`.
///
/// **Streams.** A transport that supports streams says so to the initializer. `receiveHead` then returns the response of a
/// stream, with which the transport completes the load. The transport stops when `writer` asks it to. It calls `fail(_:)`
/// if the transfer fails later:
///
/// ```swift
/// var receiver = try ResponseReceiver(for: request, maximumSize: 64 << 20, deliversStreams: true)
/// if let response = try receiver.receiveHead(.ok, fields) { promise.succeed(response) }
/// receiver.writer?.onStop { connection.close() }
/// ```
///
/// A transport without support for streams delivers the whole body in memory. Such a response can be read like a stream.
///
/// A receiver cannot be used after it has thrown an error. Writing to a file blocks the calling thread.
public struct ResponseReceiver: ~Copyable, Sendable {
  /// The decoding of encoded bodies (`Content-Encoding`) before the receiver gets their bytes.
  public enum Decoding: Sendable, Hashable {
    /// No decoding. An encoded body is delivered as it was sent, with its `Content-Encoding`.
    case asSent
    /// The platform below the transport decodes bodies, so that `Content-Length` does not match the length of the decoded
    /// body.
    ///
    /// The associated value has the accepted encodings in lower case. The length of a body with an accepted encoding is not
    /// checked, and its response has neither `Content-Encoding` nor `Content-Length`. The platform must detect a truncated
    /// body. An empty set accepts no encoded body.
    ///
    /// A body with an encoding that platforms decode, and that is not accepted, fails with the code `encodedBody`: `gzip`,
    /// `x-gzip`, `deflate`, `br` and `zstd`. A body with only other names, such as `aws-chunked`, is delivered as it was sent,
    /// and so is an empty body with `Content-Length: 0`.
    case platform(accepting: Set<String>)
  }

  /// The number of received bytes, and the length of the body if it was declared.
  public private(set) var received = HTTPProgress.Part()

  /// The writer of the stream, after the head. `nil` if the body is not delivered as a stream.
  public private(set) var writer: HTTPBodyWriter?

  /// The timings of the response. Set them before the head, because a stream is delivered then.
  public var timings: HTTPTimings?

  private let request: HTTPRequest
  private let deliversStream: Bool
  private let clock: any FutureClock
  private let destination: URL?
  private let limits: (transport: Int, request: Int?)
  private let decoding: Decoding
  private var head: (status: HTTPStatus, headers: HTTPHeaders, marks: HTTPResponse.Marks)?
  private var trailers = HTTPHeaders()
  private var body = Data()
  /// Whether the body is delivered in the place that the request specifies, and not in memory.
  private var isElsewhere = false
  /// The maximum number of bytes. Known after the head.
  private var maximumSize = 0
  private var file: BodyFile?

  /// Creates a receiver for one load.
  ///
  /// - Parameters:
  ///   - request: The request of the load. Its method and its `ResponseDelivery` are used.
  ///   - maximumSize: The maximum number of bytes in memory, unless the request has its own limit.
  ///   - decoding: The decoding of encoded bodies before they are received. Defaults to none.
  ///   - deliversStreams: Whether the transport supports streams. Defaults to `false`.
  ///   - clock: The clock of the idle-read timeout of a stream.
  /// - Throws: `HTTPError` with the code `unwritableBody` if the request specifies a file that cannot be created.
  public init(
    for request: HTTPRequest, maximumSize: Int, decoding: Decoding = .asSent, deliversStreams: Bool = false,
    clock: any FutureClock = .system
  ) throws(HTTPError) {
    let delivery = request.delivery
    self.request = request
    self.decoding = decoding
    self.clock = clock
    deliversStream = deliversStreams && delivery.isStream
    destination = delivery.file
    limits = (max(0, maximumSize), delivery.maximumSize.map { max(0, $0) })
    do throws(HTTPError) { try delivery.checkFile() } catch { throw error.naming(request) }
  }
}

// MARK: - Receiving

extension ResponseReceiver {
  /// Receives the head of the response, and checks what it declares about the body.
  ///
  /// The head of an informational response (100 to 199) is ignored, because the final response follows. A response to the
  /// method `HEAD` and a response with the status 204 or 304 have no body, regardless of their fields.
  ///
  /// Whitespace around values is removed. These fields are omitted:
  ///
  /// - fields whose name is not a token, and fields whose value has a control character other than a tab;
  /// - `Set-Cookie`, `Location` and `ETag` with the character U+FFFD, because their bytes are lost and a client sends these
  ///   values back.
  ///
  /// `Content-Length`, `Transfer-Encoding` and `Content-Encoding` must be ASCII: otherwise the body is ambiguous.
  ///
  /// - Parameters:
  ///   - status: The status code.
  ///   - fields: The header fields in order, as received. Decode values as UTF-8, and other values as ISO-8859-1. Decode
  ///     `Set-Cookie`, `Location` and `ETag` as UTF-8 only, with U+FFFD for invalid bytes.
  /// - Returns: The response, if its body is delivered as a stream: complete the load with it. Otherwise `nil`.
  /// - Throws: `HTTPError` with the code `ambiguousBody`, `encodedBody`, `bodyTooLarge` or `unwritableBody`.
  ///   `invalidResponse` if there was a head before.
  /// - Complexity: O(n) in the number of fields.
  @discardableResult
  public mutating func receiveHead(
    _ status: HTTPStatus, _ fields: some Sequence<(name: String, value: String)>
  ) throws(HTTPError) -> HTTPResponse? {
    guard !status.isInformational else { return nil }
    guard head == nil else {
      throw fault(.invalidResponse, "The transport delivered two heads of one response. Load again.")
    }
    let (headers, omitted) = Self.headers(of: fields)
    head = (status, headers, omitted.contains("location") ? .hidesLocation : [])
    guard !request.method.isHead, !status.hasNoBody else {
      received.total = 0
      return nil
    }
    isElsewhere = (destination != nil || deliversStream) && status.isSuccess
    self.maximumSize = maximumSize(for: status)
    switch omitted.isDisjoint(with: BodyFraming.fields) ? BodyFraming(headers, decoding) : .omitted {
    case .refused(let error): throw error.naming(request)
    case .declared(let length): received.total = length
    case .decoded:
      head?.headers.remove("Content-Encoding")
      head?.headers.remove("Content-Length")
      head?.marks.insert(.isDecoded)
    case .undeclared: break
    }
    if let length = received.total, length > maximumSize {
      throw fault(.bodyTooLarge, "The body has \(length) bytes. The limit is \(maximumSize). \(Self.remedy)")
    }
    guard isElsewhere else {
      // The reserved capacity is limited, because a declared length may be false.
      if let length = received.total { body.reserveCapacity(min(length, 1 << 20)) }
      return nil
    }
    guard let destination else { return beginStream() }
    do throws(HTTPError) { file = try BodyFile(for: destination) } catch { throw error.naming(request) }
    return nil
  }

  /// The fields whose values a client sends back or follows, so that it needs all their bytes.
  static let returnedFields: Set = ["set-cookie", "location", "etag"]

  /// Decodes the value of a field as UTF-8, or as ISO-8859-1. The values that a client sends back are UTF-8, or lose bytes visibly.
  static func decoded(_ bytes: some Collection<UInt8>, of name: String) -> String {
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    guard !returnedFields.contains(name.lowercased()) else { return String(decoding: bytes, as: UTF8.self) }
    return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }

  /// Returns the fields, and the lowercase names of those that are omitted.
  static func headers(
    of fields: some Sequence<(name: String, value: String)>
  ) -> (headers: HTTPHeaders, omitted: Set<String>) {
    var headers = HTTPHeaders()
    var omitted: Set<String> = []
    for (name, value) in fields {
      if let field = field(name, FieldSyntax.trimmed(value)) {
        headers.add(field)
      } else {
        omitted.insert(name.lowercased())
      }
    }
    return (headers, omitted)
  }

  /// Receives the fields after the body. The fields that a head would omit are omitted here too.
  ///
  /// - Complexity: O(n) in the number of fields.
  public mutating func receiveTrailers(_ fields: some Sequence<(name: String, value: String)>) {
    trailers.add(contentsOf: Self.headers(of: fields).headers)
  }

  /// Returns a field as it was received, or `nil` if it is omitted.
  private static func field(_ name: String, _ value: String) -> HTTPHeaders.Field? {
    if let field = try? HTTPHeaders.Field(name, value) { return field }
    let key = name.lowercased()
    let isLost = returnedFields.contains(key) && value.unicodeScalars.contains("\u{FFFD}")
    return isLost || BodyFraming.fields.contains(key) ? nil : try? HTTPHeaders.Field(received: name, value)
  }

  private mutating func beginStream() -> HTTPResponse? {
    let (stream, writer) = HTTPBodyStream.makeStream(for: request, clock: clock)
    self.writer = writer
    return response(.stream(stream))
  }

  /// Receives a head that the platform did not report: the head of a redirect whose `Location` it cannot parse. The
  /// platform drops the body of such a response, which is therefore complete only if it is empty.
  mutating func receiveUnreportedHead(
    _ status: HTTPStatus, _ fields: [(name: String, value: String)]
  ) throws(HTTPError) {
    _ = try receiveHead(status, fields)
    guard received.total != 0 else { return }
    throw fault(
      .invalidRedirect,
      "The response redirects with \(status), but its Location is missing, or the platform cannot read it and therefore "
        + "drops the body. Fix the Location, or use another transport.")
  }

  /// Receives the next bytes of the body.
  ///
  /// - Throws: `HTTPError` with one of these codes: `bodyTooLarge` if the body is longer than the limit, `ambiguousBody`
  ///   if it is longer than its declared length, `unwritableBody` if its file cannot be written, `streamOverflow` if the
  ///   buffer of its stream is full, `invalidResponse` if there was no head.
  /// - Complexity: O(n) in the number of bytes.
  public mutating func receive(_ bytes: Data) throws(HTTPError) {
    guard head != nil else {
      throw fault(.invalidResponse, "The transport delivered a body without a head. Load again.")
    }
    guard bytes.count <= (received.total ?? .max) - received.completed else {
      throw fault(
        .ambiguousBody,
        "The body has more bytes than the \(received.total ?? 0) that the response declares. Fix the server.")
    }
    guard bytes.count <= maximumSize - received.completed else {
      throw fault(.bodyTooLarge, "The body is larger than the limit of \(maximumSize) bytes. \(Self.remedy)")
    }
    received.completed += bytes.count
    if let writer {
      try writer.write(bytes)
    } else if let file {
      do throws(HTTPError) { try file.append(bytes) } catch { throw error.naming(request) }
    } else {
      body.append(bytes)
    }
  }

  /// Ends the body, and gives its file the final name.
  ///
  /// - Returns: The response with its whole body. The body is empty if it was delivered as a stream: the load has been
  ///   completed with another response.
  /// - Throws: `HTTPError` with one of these codes: `truncatedBody` if the body is shorter than its declared length,
  ///   `invalidResponse` if there was no head, `unwritableBody` if the file cannot be renamed to its final name.
  public consuming func finish() throws(HTTPError) -> HTTPResponse {
    do throws(HTTPError) {
      guard let response = response(.data(body)) else {
        throw fault(.invalidResponse, "The transport reported neither a response nor an error. Load again.")
      }
      if let length = received.total, length != received.completed {
        throw fault(.truncatedBody, "The body ended after \(received.completed) of \(length) bytes. Load again.")
      }
      writer?.finish(trailers: trailers)
      guard let file, let destination else { return response }
      do throws(HTTPError) { try file.commit() } catch { throw error.naming(request) }
      return self.response(.file(destination, size: file.size))!
    } catch {
      end(.failure(error))
      throw error
    }
  }

  /// Ends a body that cannot be received completely: its stream fails with the error, and its temporary file is removed.
  ///
  /// Without a stream, dropping the receiver has the same effect.
  public consuming func fail(_ error: any Error) {
    writer?.fail(error)
    file?.discard()
  }

  /// Ends the stream with an outcome that is not a success, and removes the temporary file.
  consuming func end(_ outcome: Outcome<Void>) {
    writer?.end(outcome)
    file?.discard()
  }

  /// Returns the response with a content, or `nil` before the head.
  private func response(_ content: HTTPResponse.Content) -> HTTPResponse? {
    head.map { head in
      HTTPResponse(
        to: request, status: head.status, headers: head.headers, content: content, trailers: trailers,
        timings: timings, marks: head.marks)
    }
  }

  private func maximumSize(for status: HTTPStatus) -> Int {
    if isElsewhere { return limits.request ?? .max }
    let delivery = request.delivery
    if delivery.isInMemory { return limits.request ?? limits.transport }
    // A stream that is delivered in memory, because the transport has no streams, or the response to an error.
    return status.isSuccess ? min(limits.request ?? .max, limits.transport) : limits.transport
  }

  private static var remedy: String { "Raise the limit, or deliver the body to a file." }

  private func fault(_ code: HTTPError.Code, _ message: String) -> HTTPError {
    HTTPError(code, message).naming(request)
  }
}

extension HTTPResponse {
  /// Returns a response whose body is where the request wants it: in memory, in a file, or in a stream that has ended.
  ///
  /// Headers that frame the body are checked, as a transport does, if the body is delivered in a file or a stream.
  ///
  /// - Throws: `HTTPError`, as `ResponseReceiver` does.
  package func delivered(for request: HTTPRequest) throws(HTTPError) -> HTTPResponse {
    let delivery = request.delivery
    guard case .data(let body) = content, delivery.isStream || delivery.file != nil else { return self }
    var receiver = try ResponseReceiver(for: request, maximumSize: .max, deliversStreams: true)
    guard let response = try receiver.receiveHead(status, headers.map { ($0.name, $0.value) }) else {
      if !body.isEmpty { try receiver.receive(body) }
      receiver.receiveTrailers(trailers.map { ($0.name, $0.value) })
      return try receiver.finish()
    }
    // An error after the head is an error of the stream.
    do throws(HTTPError) {
      try receiver.receive(body)
    } catch {
      receiver.fail(error)
      return response
    }
    receiver.receiveTrailers(trailers.map { ($0.name, $0.value) })
    _ = try? receiver.finish()
    return response
  }
}

/// The receiver of an exchange.
final class ReceivedResponse: @unchecked Sendable {
  // Because: `ExchangeState` runs one piece of work at a time, and ends only when no work is running.
  private var receiver: ResponseReceiver?

  init(_ receiver: consuming ResponseReceiver) {
    self.receiver = consume receiver
  }

  /// The writer of a stream, after its head.
  var writer: HTTPBodyWriter? { receiver?.writer }

  func pass(_ work: HTTPExchange.Work) throws(HTTPError) -> (HTTPResponse?, HTTPProgress.Part) {
    let response = try work(&receiver!)
    return (response, receiver?.received ?? HTTPProgress.Part())
  }

  func finish() throws(HTTPError) -> HTTPResponse {
    try receiver.take()!.finish()
  }

  func end(_ outcome: Outcome<Void>) {
    receiver.take()?.end(outcome)
  }
}
