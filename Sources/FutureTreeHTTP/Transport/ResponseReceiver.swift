import Foundation

/// The response of one load while it arrives: it checks the body and keeps it where the request asks.
///
/// ```swift
/// var receiver = try ResponseReceiver(for: request, maximumSize: 64 << 20)
/// try receiver.receiveHead(.ok, [("Content-Length", "5")])
/// try receiver.receive(Data("hello".utf8))
/// let response = try receiver.finish()
/// ```
///
/// A transport makes one receiver for each load before it sends the request, and passes it everything that arrives. Then
/// these rules hold, whatever the transport is:
///
/// - A body that is cut, too long or ambiguous is an error (contract rule H12). A body is ambiguous if its header fields do
///   not say plainly where it ends (RFC 9112, section 6.3).
/// - A body is limited to the size that the request or the transport accepts.
/// - A body goes to memory or to a file, as `ResponseDelivery` says. Only a whole body gets the name of the file. A receiver
///   that is dropped removes what it wrote.
/// - Header fields with invalid values are left out of the response.
/// - Errors name the request and show no secret (contract rule H11).
///
/// One rule is left to the transport. The end of a body without a declared length is known to the transport alone: if a
/// chunked body ends before its last chunk, throw an error instead of calling `finish()`.
///
/// A receiver cannot be used after it has thrown an error. Writing to a file blocks the calling thread.
public struct ResponseReceiver: ~Copyable, Sendable {
  /// What happens to encoded bodies (`Content-Encoding`) before the receiver gets their bytes.
  public enum Decoding: Sendable, Hashable {
    /// Nothing. An encoded body is delivered as it was sent, with its `Content-Encoding`.
    case asSent
    /// The platform below the transport decodes bodies, so that `Content-Length` no longer says how long they are.
    ///
    /// A body with other encodings than these, in lower case, fails with the code `encodedBody`. A body with these encodings
    /// is accepted without a check of its length, and its response has neither `Content-Encoding` nor `Content-Length`: the
    /// platform must detect a body that is cut. An empty set accepts no encoded body.
    case platform(accepting: Set<String>)
  }

  /// How much of the body has arrived, and its length if that was declared.
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
  ///   - request: The request of the load. Its method and its `ResponseDelivery` count.
  ///   - maximumSize: The number of bytes that are accepted in memory, unless the request has its own limit.
  ///   - decoding: What happens to encoded bodies before they are received. Defaults to nothing.
  /// - Throws: `HTTPError` with the code `unwritableBody`, if the request asks for a file where none can be.
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

// MARK: - What arrives

extension ResponseReceiver {
  /// Takes the head of the response, and checks what it says about the body.
  ///
  /// The head of an informational response (100 to 199) is ignored, because the response is still to come. A request with
  /// the method `HEAD` and a response with the status 204 or 304 have no body, whatever their fields declare.
  ///
  /// - Parameters:
  ///   - status: The status code.
  ///   - fields: The header fields in order, as they were received. Blanks around values are removed.
  /// - Throws: `HTTPError` with the code `ambiguousBody`, `encodedBody`, `bodyTooLarge`, or `unwritableBody`.
  /// - Complexity: O(n) in the number of fields.
  public mutating func receiveHead(
    _ status: HTTPStatus, _ fields: some Sequence<(name: String, value: String)>
  ) throws(HTTPError) {
    let fields = fields.map { (name: $0.name, value: BodyFraming.trimmed($0.value[...])) }
    var headers = HTTPHeaders()
    for (name, value) in fields { try? headers.add(name, value) }
    try receiveHead(status, headers, of: fields)
  }

  /// - Parameter fields: The fields from which the headers were made, including those that were left out.
  mutating func receiveHead(
    _ status: HTTPStatus, _ headers: HTTPHeaders, of fields: [(name: String, value: String)]
  ) throws(HTTPError) {
    guard !status.isInformational else { return }
    guard head == nil else { throw fault(.invalidResponse, "The response has a second head. Load again.") }
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
      throw fault(.bodyTooLarge, "The body has \(length) bytes; \(maximumSize) are accepted. \(Self.remedy)")
    }
    guard isInFile, let destination else {
      // Bounded: a declared length is only a claim.
      if let length = received.total { body.reserveCapacity(min(length, 1 << 20)) }
      return
    }
    do throws(HTTPError) { file = try BodyFile(for: destination) } catch { throw error.naming(request) }
  }

  /// Takes a head that the platform did not report: that of a redirect whose `Location` it cannot read. It drops the body of
  /// such an answer, which therefore is whole only if it is empty.
  mutating func receiveUnreportedHead(
    _ status: HTTPStatus, _ headers: HTTPHeaders, of fields: [(name: String, value: String)]
  ) throws(HTTPError) {
    try receiveHead(status, headers, of: fields)
    guard received.total != 0 else { return }
    throw fault(
      .invalidRedirect,
      "The answer redirects with \(status) and has no Location that the platform can read, so that the platform "
        + "drops its body. Fix the Location, or load over another transport.")
  }

  /// Takes the next bytes of the body.
  ///
  /// - Throws: `HTTPError` with the code `bodyTooLarge`, if the body is longer than is accepted; `ambiguousBody`, if it is
  ///   longer than its declared length; `unwritableBody`, if its file cannot be written.
  /// - Complexity: O(n) in the number of bytes.
  public mutating func receive(_ bytes: Data) throws(HTTPError) {
    guard head != nil else { throw fault(.invalidResponse, "The response has a body before its head. Load again.") }
    guard bytes.count <= (received.total ?? .max) - received.completed else {
      throw fault(
        .ambiguousBody,
        "The body has more bytes than the \(received.total ?? 0) that the response declares. The server is at fault.")
    }
    guard bytes.count <= maximumSize - received.completed else {
      throw fault(.bodyTooLarge, "The body has more than the \(maximumSize) bytes that are accepted. \(Self.remedy)")
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
  /// - Throws: `HTTPError` with the code `truncatedBody`, if the body is shorter than its declared length; `invalidResponse`,
  ///   if there was no head; `unwritableBody`, if the file cannot get its name.
  public consuming func finish() throws(HTTPError) -> HTTPResponse {
    guard let head else {
      throw fault(.invalidResponse, "The transport reported no response, and no error. Load again.")
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

  /// Removes what was written.
  consuming func discard() {
    file?.discard()
  }

  private var maximumSize: Int { isInFile ? maximumSizes.file : maximumSizes.memory }

  private static var remedy: String { "Raise the limit, or have the body delivered to a file." }

  private func fault(_ code: HTTPError.Code, _ message: String) -> HTTPError {
    HTTPError(code, message).naming(request)
  }
}
