import FutureTreeHTTP

/// The memory of an upload that is sent in several requests. Pure: sends nothing, sets no timer, reads no clock.
///
///     create ──► append ──► append … ──► finished
///        └─failure─► ask ─┘  └─failure─► ask
///
/// # Invariants
/// 1. A part begins at the offset that the server reported last. No byte is left out.
/// 2. An offset is never beyond the length.
/// 3. The number of requests without a further byte at the server is limited: by the strategy after failures, by `stallLimit` after
///    successes, and by one new beginning.
struct UploadState {
  enum Step {
    /// The request that creates the upload. With the draft, it also has the whole body.
    case create
    /// The request for the offset.
    case ask
    /// The request with a part of the body, from the offset on.
    case append
  }

  /// What a response means.
  enum Verdict {
    /// The response is that of the load, and the upload has ended.
    case finished
    /// The next request follows at once.
    case proceeds
    /// The response is a failure, after which another attempt can follow.
    case undecided
  }

  private static let stallLimit = 5

  let uploadProtocol: UploadProtocol
  let length: Int
  /// Whether the caller's request can be sent again although the server may have received all of it.
  let isRepeatable: Bool
  private(set) var step = Step.create
  /// The URL of the upload. `nil` if the server has not announced it.
  private(set) var upload: HTTPURL?
  /// The offset that the server reported last.
  private(set) var offset = 0
  /// The number of the attempt since the server had further bytes, counted from 1.
  private(set) var attempt = 1
  /// The greatest offset that the server has reported.
  private var highest = 0
  private var stalls = 0
  private var hasBegunAgain = false
  /// The maximum size of a part. `nil` if the server has not announced one.
  private var partLimit: Int?

  /// - Parameter upload: The upload of an earlier load.
  init(_ uploadProtocol: UploadProtocol, length: Int, isRepeatable: Bool, continuing upload: HTTPURL?) {
    self.uploadProtocol = uploadProtocol
    self.length = length
    self.isRepeatable = isRepeatable
    self.upload = upload
    if upload != nil { step = .ask }
  }

  /// Whether the request that follows a failure has no effect that a previous one can have had.
  var canRepeat: Bool { upload != nil || uploadProtocol == .tus || isRepeatable }
}

// MARK: - Requests

extension UploadState {
  /// Returns the next request.
  ///
  /// - Parameter base: The request of the caller. Its URL has a host.
  func request(from base: HTTPRequest, _ body: UploadBody) throws(HTTPError) -> HTTPRequest {
    var request = base
    if uploadProtocol == .tus {
      try request.setHeader("Tus-Resumable", "1.0.0")
    } else {
      try request.setHeader("Upload-Draft-Interop-Version", UploadProtocol.interopVersion)
    }
    guard step != .create, let upload else { return try creation(request, body) }
    request.target = .url(upload)
    for name in base.headers.map(\.name) where UploadState.describesCreation(name) { request.removeHeader(name) }
    if let url = base.url, !upload.hasSameOrigin(as: url) { request.removeCredentials() }
    guard step == .append else {
      request.method = .head
      request.body = .empty
      request.delivery = .buffered()
      request.caching = .off
      return request
    }
    let end = partLimit.map { min(length, offset + $0) } ?? length
    request.method = .patch
    request.body = body.part(offset..<end, contentType: uploadProtocol.partType)
    try request.setHeader("Upload-Offset", String(offset))
    if uploadProtocol == .draft { try request.setHeader("Upload-Complete", end == length ? "?1" : "?0") }
    return request
  }

  private func creation(_ base: HTTPRequest, _ body: UploadBody) throws(HTTPError) -> HTTPRequest {
    var request = base
    try request.setHeader("Upload-Length", String(length))
    if uploadProtocol == .draft {
      try request.setHeader("Upload-Complete", "?1")
      if body.version != nil, let type = base.body.contentType {
        request.body = body.part(0..<length, contentType: type)
      }
    } else {
      for name in base.headers.map(\.name) where name.lowercased().hasPrefix("content-") { request.removeHeader(name) }
      request.body = .empty
      request.delivery = .buffered()
    }
    return request
  }

  /// Returns whether a field belongs to the request of the caller, and not to the requests to the upload.
  private static func describesCreation(_ name: String) -> Bool {
    let name = name.lowercased()
    return ["content-", "upload-metadata", "if-"].contains { name.hasPrefix($0) }
      || ["digest", "repr-digest", "idempotency-key"].contains(name)
  }
}

// MARK: - Events

extension UploadState {
  /// Registers an interim response with the status 104. Returns whether it announces the upload.
  mutating func received(interim response: HTTPResponse) -> Bool {
    guard response.headers["Upload-Draft-Interop-Version"] == UploadProtocol.interopVersion else { return false }
    readLimit(of: response)
    guard step == .create, upload == nil, let url = try? UploadState.upload(in: response) else { return false }
    upload = url
    return true
  }

  /// Registers that an attempt has failed.
  mutating func attemptFailed() {
    attempt += 1
    step = upload == nil ? .create : .ask
  }

  /// Registers a response.
  ///
  /// - Throws: `HTTPError` with the code `invalidResponse`, `insecureRedirect` or `unacceptableStatus` if the upload cannot be
  ///   continued.
  mutating func received(_ response: HTTPResponse) throws(HTTPError) -> Verdict {
    readLimit(of: response)
    switch step {
    case .create: return try receivedCreation(response)
    case .ask, .append:
      if step == .append, uploadProtocol == .draft, response.isCompleteUpload == true { return .finished }
      if [404, 410].contains(response.status.code) { return try beginAgain(response) }
      guard response.status.isSuccess else { return .undecided }
      return step == .ask ? try receivedOffset(response) : try receivedEnd(response)
    }
  }

  private mutating func receivedCreation(_ response: HTTPResponse) throws(HTTPError) -> Verdict {
    let isComplete = response.isCompleteUpload
    switch uploadProtocol {
    case .draft where isComplete == true || isComplete == nil && response.status.isSuccess: return .finished
    case .draft where response.status.isSuccess:
      if upload == nil { upload = try UploadState.upload(in: response) }
      step = .ask
    case .tus where response.status.isSuccess:
      upload = try UploadState.upload(in: response)
      if length == 0 { return .finished }
      (step, attempt) = (.append, 1)
    default: return .undecided
    }
    return .proceeds
  }

  /// Registers the response to the request for the offset.
  private mutating func receivedOffset(_ response: HTTPResponse) throws(HTTPError) -> Verdict {
    guard let offset = try offset(in: response) else {
      throw UploadState.invalid("The response has no offset of the upload.", response)
    }
    if let total = response.headers["Upload-Length"], UploadState.number(total) != length {
      throw UploadState.invalid("The server expects another length than \(length) bytes.", response)
    }
    let isComplete = uploadProtocol == .draft ? response.isCompleteUpload == true : offset == length
    guard !isComplete || offset == length else {
      throw UploadState.invalid(
        "The server completed the upload after \(offset) of \(length) bytes, and its response is lost.", response)
    }
    try moved(to: offset, isStall: false, response)
    if isComplete { return .finished }
    step = .append
    return .proceeds
  }

  /// Registers the successful response to a part.
  private mutating func receivedEnd(_ response: HTTPResponse) throws(HTTPError) -> Verdict {
    let offset = try offset(in: response)
    if uploadProtocol == .tus {
      guard let offset else { throw UploadState.invalid("The response has no offset of the upload.", response) }
      if offset == length { return .finished }
    }
    try moved(to: offset ?? self.offset, isStall: true, response)
    step = offset == nil ? .ask : .append
    return .proceeds
  }

  private mutating func moved(to offset: Int, isStall: Bool, _ response: HTTPResponse) throws(HTTPError) {
    self.offset = offset
    if offset > highest {
      (highest, attempt, stalls) = (offset, 1, 0)
    } else if isStall {
      stalls += 1
      guard stalls < UploadState.stallLimit else {
        throw UploadState.invalid("The server accepts no bytes after \(offset) of \(length).", response)
      }
    }
  }

  private mutating func beginAgain(_ response: HTTPResponse) throws(HTTPError) -> Verdict {
    guard !hasBegunAgain, uploadProtocol == .tus || isRepeatable else {
      throw HTTPError(
        .unacceptableStatus,
        "The server does not have the upload any more. It may have been completed. Check that, and load the request again.",
        response: response)
    }
    (hasBegunAgain, upload, step, offset, highest) = (true, nil, .create, 0, 0)
    return .proceeds
  }
}

// MARK: - Fields

extension UploadState {
  /// Returns the offset in a response, or `nil` if it has none.
  private func offset(in response: HTTPResponse) throws(HTTPError) -> Int? {
    let values = response.headers.values(for: "Upload-Offset")
    guard !values.isEmpty else { return nil }
    guard values.count == 1, let offset = UploadState.number(values[0]), offset <= length else {
      throw UploadState.invalid("The response has an offset that is not a number from 0 to \(length).", response)
    }
    return offset
  }

  private static func number(_ text: String) -> Int? { text.utf8.allSatisfy(ASCII.isDigit) ? Int(text) : nil }

  private mutating func readLimit(of response: HTTPResponse) {
    guard uploadProtocol == .draft, let limits = response.headers["Upload-Limit"] else { return }
    let prefix = "max-append-size="
    let limit = FieldSyntax.elements(of: limits).last { $0.hasPrefix(prefix) }?.dropFirst(prefix.count)
    if let limit = limit.flatMap({ UploadState.number(String($0)) }), limit > 0 { partLimit = limit }
  }

  /// Returns the URL of the upload. It can be at another origin, as after a redirect, but never without encryption.
  private static func upload(in response: HTTPResponse) throws(HTTPError) -> HTTPURL {
    let locations = response.headers.values(for: "Location")
    guard let base = response.request.url, locations.count == 1, !locations[0].isEmpty,
      let url = try? base.resolving(received: locations[0])
    else {
      throw invalid("The response to the creation of the upload has no valid Location.", response)
    }
    guard base.scheme == .http || url.scheme == .https else {
      throw HTTPError(
        .insecureRedirect,
        "The upload would lead from https to \(url), which is not encrypted. Fix the server.", response: response)
    }
    return url
  }

  private static func invalid(_ fault: String, _ response: HTTPResponse) -> HTTPError {
    HTTPError(.invalidResponse, "\(fault) Fix the server, or upload without the layer.", response: response)
  }
}

extension HTTPResponse {
  /// The value of `Upload-Complete`. `nil` if it is missing or invalid.
  fileprivate var isCompleteUpload: Bool? {
    switch headers["Upload-Complete"] {
    case "?1": true
    case "?0": false
    default: nil
    }
  }
}
