import Foundation
import FutureTreeHTTP

/// Recorded requests and their responses, in the format HAR 1.2 that browsers and proxies read and write.
///
/// ```swift
/// let recorder = HTTPRecorder()
/// let api = Retry() --> recorder --> SystemLoader()
/// try recorder.archive.write(to: URL(filePath: "feed.har"))
/// ```
///
/// An ``HTTPRecorder`` makes archives. An ``HTTPReplayer`` answers requests from them. If an archive of another tool is read and
/// written, it keeps only the parts that the format defines and that a replay needs.
public struct HTTPArchive: Sendable, Equatable {
  package var entries: [Entry] = []

  /// Creates an empty archive.
  public init() {}

  init(_ entries: [Entry]) {
    self.entries = entries
  }

  /// Reads an archive from a file.
  ///
  /// - Throws: `InvalidArchive` if the file cannot be read or is not an archive.
  public init(contentsOf url: URL) throws {
    let data: Data
    do { data = try Data(contentsOf: url) } catch {
      throw InvalidArchive(reason: "the file cannot be read")
    }
    try self.init(data)
  }

  /// Reads an archive from its JSON.
  ///
  /// - Throws: `InvalidArchive` if the bytes are not an archive.
  public init(_ data: Data) throws {
    do {
      self = try JSONDecoder().decode(HTTPArchive.self, from: data)
    } catch {
      throw InvalidArchive(error, in: data)
    }
  }

  /// The JSON of the archive. Keys are sorted, so that two archives can be compared line by line.
  ///
  /// - Throws: An error of the encoder.
  public func data() throws -> Data {
    try Self.encoder.encode(self)
  }

  static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return encoder
  }

  /// Writes the archive to a file, which is replaced as a whole.
  ///
  /// - Throws: An error of the file system.
  public func write(to url: URL) throws {
    try data().write(to: url, options: .atomic)
  }

  /// The number of requests.
  public var count: Int { entries.count }
}

extension HTTPArchive: Codable {
  public init(from decoder: any Decoder) throws {
    entries = try File(from: decoder).log.entries
  }

  public func encode(to encoder: any Encoder) throws {
    try File(log: File.Log(entries: entries)).encode(to: encoder)
  }
}

extension HTTPArchive: CustomStringConvertible, CustomReflectable {
  /// The number of requests, without their contents, which may be secrets.
  public var description: String { "HTTPArchive(\(count) requests)" }

  public var customMirror: Mirror { Mirror(self, children: ["count": count], displayStyle: .struct) }
}

/// The error of a file that is not an archive.
public struct InvalidArchive: LocalizedError, Hashable, CustomStringConvertible {
  /// What is wrong, without values of the file.
  public let reason: String

  public var description: String {
    "The archive cannot be used: \(reason). Export it again as HAR 1.2, or record it again."
  }

  /// The same text as `description`.
  public var errorDescription: String? { description }

  package init(reason: String) {
    self.reason = reason
  }

  /// Creates the error of a decoder.
  init(_ error: any Error, in bytes: Data) {
    self.init(reason: DecodingFault(error, in: bytes, named: "it").description)
  }
}

// MARK: - The format

extension HTTPArchive {
  private struct File: Codable {
    struct Log: Codable {
      struct Creator: Codable {
        var name = "FutureTree"
        var version = "1"
      }

      var version = "1.2"
      var creator = Creator()
      var entries: [Entry]

      init(entries: [Entry]) {
        self.entries = entries
      }

      init(from decoder: any Decoder) throws {
        entries = try decoder.container(keyedBy: CodingKeys.self).decode([Entry].self, forKey: .entries)
      }
    }

    var log: Log
  }

  package struct Field: Codable, Sendable, Equatable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// One request and its response.
  package struct Entry: Codable, Sendable, Equatable {
    package struct Request: Codable, Sendable, Equatable {
      package var method: String
      package var url: String
      var httpVersion = "HTTP/1.1"
      var cookies: [Field] = []
      package var headers: [Field] = []
      var queryString: [Field] = []
      package var postData: Body?
      var headersSize = -1
      var bodySize = -1
    }

    package struct Response: Codable, Sendable, Equatable {
      /// Zero for a load that failed.
      package var status: Int
      var statusText = ""
      var httpVersion = "HTTP/1.1"
      var cookies: [Field] = []
      package var headers: [Field] = []
      package var content: Body
      var redirectURL = ""
      var headersSize = -1
      var bodySize = -1
      /// The code of the error with which the load failed, `cancelled`, or `pending`.
      package var _error: String?
    }

    struct Timings: Codable, Sendable, Equatable {
      var send = 0.0
      var wait = 0.0
      var receive = 0.0
    }

    var startedDateTime: String
    var time = 0.0
    package var request: Request
    package var response: Response
    var cache: [String: String] = [:]
    var timings = Timings()
    /// The number of the load's future in the log of the recorder.
    package var _future: Int?

    init(startedDateTime: String, request: Request, response: Response) {
      self.startedDateTime = startedDateTime
      self.request = request
      self.response = response
    }

    /// Returns the entry with a response and its time.
    func ended(_ response: Response, after duration: Duration) -> Entry {
      var entry = self
      entry.response = response
      entry.time = max(0, duration / .milliseconds(1))
      entry.timings = Timings(wait: entry.time)
      return entry
    }
  }

  /// A body as text, or as Base64 if it is not UTF-8.
  package struct Body: Codable, Sendable, Equatable {
    var mimeType: String
    /// `nil` if the body was not recorded.
    package var text: String?
    var encoding: String?
    var size: Int?
    var comment: String?

    /// Creates a body with all bytes.
    init(_ data: Data, mimeType: String) {
      self.mimeType = mimeType
      size = data.count
      if let text = String(data: data, encoding: .utf8) {
        self.text = text
      } else {
        (text, encoding) = (data.base64EncodedString(), "base64")
      }
    }

    /// Creates a body without its bytes.
    init(omitted comment: String, size: Int?, mimeType: String) {
      self.mimeType = mimeType
      self.size = size
      self.comment = comment
    }

    /// The bytes. `nil` if they were not recorded, or are not Base64.
    package var data: Data? {
      guard let text else { return size ?? 0 <= 0 ? Data() : nil }
      return encoding?.lowercased() == "base64" ? Data(base64Encoded: text) : Data(text.utf8)
    }
  }
}

// H13 (tolerant reading): other tools omit fields that the format requires, and write some in another form.
extension HTTPArchive.Field {
  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    name = try values.decode(String.self, forKey: .name)
    value = try values.decodeIfPresent(String.self, forKey: .value) ?? ""
  }
}

extension KeyedDecodingContainer {
  /// Decodes the header fields of a message. Browsers join the values of one name with line feeds.
  fileprivate func fields(forKey key: Key) throws -> [HTTPArchive.Field] {
    try (decodeIfPresent([HTTPArchive.Field].self, forKey: key) ?? []).flatMap { field in
      field.value.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        .map { HTTPArchive.Field(name: field.name, value: FieldSyntax.trimmed(String($0))) }
    }
  }
}

extension HTTPArchive.Entry {
  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    startedDateTime = try values.decodeIfPresent(String.self, forKey: .startedDateTime) ?? ""
    time = try values.decodeIfPresent(Double.self, forKey: .time) ?? 0
    request = try values.decode(Request.self, forKey: .request)
    response = try values.decodeIfPresent(Response.self, forKey: .response) ?? Response(error: Response.failed)
    timings = Timings(wait: time)
    _future = try values.decodeIfPresent(Int.self, forKey: ._future)
  }
}

extension HTTPArchive.Entry.Response {
  /// The error of a load that failed with an error of another tool.
  fileprivate static let failed = HTTPError.Code.transportFailed.description

  /// Creates the response of a load without a response.
  init(error: String) {
    self.init(status: 0, content: HTTPArchive.Body(Data(), mimeType: ""))
    _error = error
  }

  /// Whether the load has a response or an error.
  package var hasOutcome: Bool { _error != HTTPArchive.cancelled && !isPending }
  /// Whether the load was in flight when it was recorded.
  package var isPending: Bool { _error == HTTPArchive.pending }
}

extension HTTPArchive {
  /// The error of a load that was cancelled, in a recording.
  static let cancelled = "cancelled"
  /// The error of a load that is in flight, in a recording.
  static let pending = "pending"
}

extension HTTPArchive.Entry.Request {
  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    method = try values.decode(String.self, forKey: .method)
    url = try values.decode(String.self, forKey: .url)
    headers = try values.fields(forKey: .headers)
    queryString = try values.decodeIfPresent([HTTPArchive.Field].self, forKey: .queryString) ?? []
    postData = try values.decodeIfPresent(HTTPArchive.Body.self, forKey: .postData)
    bodySize = try values.decodeIfPresent(Int.self, forKey: .bodySize) ?? -1
  }
}

extension HTTPArchive.Entry.Response {
  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    status = try values.decodeIfPresent(Int.self, forKey: .status) ?? 0
    statusText = try values.decodeIfPresent(String.self, forKey: .statusText) ?? ""
    headers = try values.fields(forKey: .headers)
    content = try values.decodeIfPresent(HTTPArchive.Body.self, forKey: .content) ?? .init(Data(), mimeType: "")
    redirectURL = try values.decodeIfPresent(String.self, forKey: .redirectURL) ?? ""
    bodySize = try values.decodeIfPresent(Int.self, forKey: .bodySize) ?? -1
    if try values.contains(._error) && !values.decodeNil(forKey: ._error) {
      let code = try? values.decode(String.self, forKey: ._error)
      _error = code == "" ? nil : code ?? Self.failed
    }
  }
}

extension HTTPArchive.Body {
  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    mimeType = try values.decodeIfPresent(String.self, forKey: .mimeType) ?? ""
    text = try values.decodeIfPresent(String.self, forKey: .text)
    encoding = try values.decodeIfPresent(String.self, forKey: .encoding)
    size = try values.decodeIfPresent(Int.self, forKey: .size)
    comment = try values.decodeIfPresent(String.self, forKey: .comment)
  }
}
