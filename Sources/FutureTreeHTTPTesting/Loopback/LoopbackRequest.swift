/// A request as recorded by a loopback server.
///
/// ```swift
/// let request = try #require(server.requests.first)
/// #expect(request.method == "POST")
/// #expect(request.values(for: "content-type") == ["application/json"])
/// #expect(request.text == #"{"name": "Ada"}"#)
/// ```
///
/// A request is recorded as soon as its head is complete. Its body grows until `progress` is `.complete`. Bytes that are not a
/// valid request are recorded as `.malformed`.
public struct LoopbackRequest: Sendable, Hashable {
  /// The progress of receiving a request.
  public enum Progress: Sendable, Hashable {
    /// The head is complete, the body is not.
    case receivingBody
    /// The request is complete.
    case complete
    /// The bytes are not valid HTTP/1.1, for this reason. `head` has the bytes; the other fields have the parts that could be
    /// parsed.
    case malformed(String)
  }

  /// A header field as the client sent it, without whitespace around its value.
  public struct Field: Sendable, Hashable {
    /// The name as the client wrote it. Lookups ignore its case.
    public let name: String
    /// The value, without surrounding whitespace.
    public let value: String
  }

  /// The number of this request in the order in which all heads arrived, starting at 1.
  public internal(set) var arrival = 0

  /// The ID of the request's connection.
  public internal(set) var connection = 0

  /// The number of this request on its connection, starting at 1.
  public internal(set) var sequence = 0

  /// The method in the request line.
  public internal(set) var method = ""

  /// The path and the query in the request line.
  public internal(set) var target = ""

  /// The header fields, in the order sent.
  public internal(set) var headers: [Field] = []

  /// The request line, the header block and the empty line, byte for byte.
  public internal(set) var head: [UInt8] = []

  /// The body. The framing of a chunked body is removed.
  public internal(set) var body: [UInt8] = []

  /// The trailer fields of a chunked body.
  public internal(set) var trailers: [Field] = []

  /// The progress of receiving the request.
  public internal(set) var progress = Progress.receivingBody
}

extension LoopbackRequest {
  /// The target without its query.
  public var path: String { String(target.prefix { $0 != "?" }) }

  /// The host that the request names, in lower case, without its port.
  var host: String? {
    values(for: "Host").first?.lowercased().replacing(/:[0-9]*$/, with: "")
  }

  /// The body as text. Bytes that are not UTF-8 are replaced.
  public var text: String { String(decoding: body, as: UTF8.self) }

  /// Whether the whole request has arrived.
  public var isComplete: Bool { progress == .complete }

  /// Returns the values of the header fields with this name. The comparison is case-insensitive.
  public func values(for name: String) -> [String] {
    let name = name.lowercased()
    return headers.filter { $0.name.lowercased() == name }.map(\.value)
  }

  /// Returns whether `path` is the target of this request, or the target without its query.
  func isTo(_ path: String) -> Bool { target == path || self.path == path }
}
