import Foundation

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
/// - A body is stored in memory or in a file, as `ResponseDelivery` specifies. Only a complete body gets the final name
///   of the file. If the receiver is dropped, it removes its temporary file.
/// - Header fields with invalid values are omitted from the response.
/// - Errors name the request and contain no secrets.
///
/// The transport is responsible for one rule. Only the transport knows the end of a body without a declared length. If a
/// chunked body ends before its last chunk, the transport must report an error instead of calling `finish()`.
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
    /// The associated value has the accepted encodings in lower case. A body with another encoding fails with the code
    /// `encodedBody`. The length of a body with an accepted encoding is not checked, and its response has neither
    /// `Content-Encoding` nor `Content-Length`. The platform must detect a truncated body. An empty set accepts no
    /// encoded body.
    case platform(accepting: Set<String>)
  }

  /// The number of received bytes, and the length of the body if it was declared.
  public private(set) var received = HTTPProgress.Part()

  private let request: HTTPRequest
  private let destination: URL?
  private let maximumSizes: (memory: Int, file: Int)
  private let decoding: Decoding
  private var head: (status: HTTPStatus, headers: HTTPHeaders, hidesLocation: Bool)?
  private var body = Data()
  private var isInFile = false
  private var file: BodyFile?

  /// Creates a receiver for one load.
  ///
  /// - Parameters:
  ///   - request: The request of the load. Its method and its `ResponseDelivery` are used.
  ///   - maximumSize: The maximum number of bytes in memory, unless the request has its own limit.
  ///   - decoding: The decoding of encoded bodies before they are received. Defaults to none.
  /// - Throws: `HTTPError` with the code `unwritableBody` if the request specifies a file that cannot be created.
  public init(for request: HTTPRequest, maximumSize: Int, decoding: Decoding = .asSent) throws(HTTPError) {
    let delivery = request[option: ResponseDelivery.self]
    self.request = request
    self.decoding = decoding
    destination = delivery.file
    let ownLimit = delivery.maximumSize
    maximumSizes = (max(0, delivery.file == nil ? ownLimit ?? maximumSize : maximumSize), max(0, ownLimit ?? .max))
    guard let destination else { return }
    do throws(HTTPError) { try BodyFile.check(destination) } catch { throw error.naming(request) }
  }
}

// MARK: - Receiving

extension ResponseReceiver {
  /// Receives the head of the response, and checks what it declares about the body.
  ///
  /// The head of an informational response (100 to 199) is ignored, because the final response follows. A response to the
  /// method `HEAD` and a response with the status 204 or 304 have no body, regardless of their fields.
  ///
  /// - Parameters:
  ///   - status: The status code.
  ///   - fields: The header fields in order, as received. Whitespace around values is removed.
  /// - Throws: `HTTPError` with the code `ambiguousBody`, `encodedBody`, `bodyTooLarge` or `unwritableBody`.
  ///   `invalidResponse` if there was a head before.
  /// - Complexity: O(n) in the number of fields.
  public mutating func receiveHead(
    _ status: HTTPStatus, _ fields: some Sequence<(name: String, value: String)>
  ) throws(HTTPError) {
    let fields = fields.map { (name: $0.name, value: BodyFraming.trimmed($0.value[...])) }
    var headers = HTTPHeaders()
    for (name, value) in fields { try? headers.add(name, value) }
    try receiveHead(status, headers, of: fields)
  }

  /// - Parameter fields: The fields from which the headers were created, including the omitted ones.
  mutating func receiveHead(
    _ status: HTTPStatus, _ headers: HTTPHeaders, of fields: [(name: String, value: String)]
  ) throws(HTTPError) {
    guard !status.isInformational else { return }
    guard head == nil else {
      throw fault(.invalidResponse, "The transport delivered two heads of one response. Load again.")
    }
    let hidden = BodyFraming.hiddenNames(in: fields)
    head = (status, headers, hidden.contains("location"))
    guard request.method.inUpperCase != .head, !status.hasNoBody else {
      received.total = 0
      return
    }
    isInFile = destination != nil && status.isSuccess
    switch hidden.isDisjoint(with: BodyFraming.fields) ? BodyFraming(headers, decoding) : BodyFraming.hidden {
    case .refused(let error): throw error.naming(request)
    case .declared(let length): received.total = length
    case .decoded:
      head?.headers.remove("Content-Encoding")
      head?.headers.remove("Content-Length")
    case .undeclared: break
    }
    if let length = received.total, length > maximumSize {
      throw fault(.bodyTooLarge, "The body has \(length) bytes. The limit is \(maximumSize). \(Self.remedy)")
    }
    guard isInFile, let destination else {
      // The reserved capacity is limited, because a declared length may be false.
      if let length = received.total { body.reserveCapacity(min(length, 1 << 20)) }
      return
    }
    do throws(HTTPError) { file = try BodyFile(for: destination) } catch { throw error.naming(request) }
  }

  /// Receives a head that the platform did not report: the head of a redirect whose `Location` it cannot parse. The
  /// platform drops the body of such a response, which is therefore complete only if it is empty.
  mutating func receiveUnreportedHead(
    _ status: HTTPStatus, _ headers: HTTPHeaders, of fields: [(name: String, value: String)]
  ) throws(HTTPError) {
    try receiveHead(status, headers, of: fields)
    guard received.total != 0 else { return }
    throw fault(
      .invalidRedirect,
      "The response redirects with \(status), but its Location is missing, or the platform cannot read it and therefore "
        + "drops the body. Fix the Location, or use another transport.")
  }

  /// Receives the next bytes of the body.
  ///
  /// - Throws: `HTTPError` with one of these codes: `bodyTooLarge` if the body is longer than the limit, `ambiguousBody`
  ///   if it is longer than its declared length, `unwritableBody` if its file cannot be written, `invalidResponse` if
  ///   there was no head.
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
    guard let file else {
      body.append(bytes)
      return
    }
    do throws(HTTPError) { try file.append(bytes) } catch { throw error.naming(request) }
  }

  /// Ends the body, and gives its file the final name.
  ///
  /// - Returns: The response with its whole body.
  /// - Throws: `HTTPError` with one of these codes: `truncatedBody` if the body is shorter than its declared length,
  ///   `invalidResponse` if there was no head, `unwritableBody` if the file cannot be renamed to its final name.
  public consuming func finish() throws(HTTPError) -> HTTPResponse {
    guard let head else {
      throw fault(.invalidResponse, "The transport reported neither a response nor an error. Load again.")
    }
    if let length = received.total, length != received.completed {
      throw fault(.truncatedBody, "The body ended after \(received.completed) of \(length) bytes. Load again.")
    }
    var content = HTTPResponse.Content.data(body)
    if let file, let destination {
      do throws(HTTPError) { try file.commit() } catch { throw error.naming(request) }
      content = .file(destination, size: file.size)
    }
    return HTTPResponse(
      to: request, status: head.status, headers: head.headers, content: content, hidesLocation: head.hidesLocation)
  }

  /// Removes the temporary file.
  consuming func discard() {
    file?.discard()
  }

  private var maximumSize: Int { isInFile ? maximumSizes.file : maximumSizes.memory }

  private static var remedy: String { "Raise the limit, or deliver the body to a file." }

  private func fault(_ code: HTTPError.Code, _ message: String) -> HTTPError {
    HTTPError(code, message).naming(request)
  }
}
