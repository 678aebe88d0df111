/// A request as a loopback server saw it.
///
/// ```swift
/// let request = try #require(server.requests.first)
/// #expect(request.method == "POST")
/// #expect(request.values(for: "content-type") == ["application/json"])
/// #expect(request.text == #"{"name": "Ada"}"#)
/// ```
///
/// A request is recorded as soon as its head is complete; its body grows until `progress` is `.complete`. What is not a
/// request is recorded as well, as `.malformed`.
public struct LoopbackRequest: Sendable, Hashable {
  /// How much of a request has arrived.
  public enum Progress: Sendable, Hashable {
    /// The head is complete and the body is not.
    case receivingBody
    /// All of it.
    case complete
    /// The client sent what is not HTTP/1.1, for this reason. The fields hold what could be understood, `head` the bytes.
    case malformed(String)
  }

  /// One header field as it was sent, without the blanks around its value.
  public struct Field: Sendable, Hashable {
    /// As it was written; names are compared without case.
    public let name: String
    /// Without the blanks around it.
    public let value: String
  }

  /// The place of this request among all requests, in the order in which their heads arrived. The first has 1.
  public internal(set) var arrival = 0

  /// The id of the connection that brought the request.
  public internal(set) var connection = 0

  /// The place of this request among those of its connection. The first has 1.
  public internal(set) var sequence = 0

  /// The method, as it stands in the request line.
  public internal(set) var method = ""

  /// The path and the query, as they stand in the request line.
  public internal(set) var target = ""

  /// The header fields in the order in which they were sent.
  public internal(set) var headers: [Field] = []

  /// The request line, the header block and the empty line, byte for byte.
  public internal(set) var head: [UInt8] = []

  /// The body, without its framing if it was chunked.
  public internal(set) var body: [UInt8] = []

  /// The header fields after a chunked body.
  public internal(set) var trailers: [Field] = []

  /// How much of the request has arrived.
  public internal(set) var progress = Progress.receivingBody
}

extension LoopbackRequest {
  /// The target without its query.
  public var path: String { String(target.prefix { $0 != "?" }) }

  /// The body as text. What is not UTF-8 is replaced.
  public var text: String { String(decoding: body, as: UTF8.self) }

  /// Whether the whole request has arrived.
  public var isComplete: Bool { progress == .complete }

  /// The values of the header fields with this name, whatever its case.
  public func values(for name: String) -> [String] {
    let name = name.lowercased()
    return headers.filter { $0.name.lowercased() == name }.map(\.value)
  }

  /// Whether this request is to `path`: the whole target, or the target without its query.
  func isTo(_ path: String) -> Bool { target == path || self.path == path }
}
