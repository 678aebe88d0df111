import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting

/// One run of a check: its server, its transport, and the faults found.
final class CheckRun: Sendable {
  let server: LoopbackServer
  let loader: any HTTPLoader
  /// The names, in lower case, of the fields that the transport is documented to add.
  let addedFields: Set<String>
  private let found = Locked<[String]>([])

  init(_ server: LoopbackServer, _ loader: any HTTPLoader, _ addedFields: Set<String>) {
    self.server = server
    self.loader = loader
    self.addedFields = addedFields
  }

  var faults: [String] { found.value }

  func report(_ fault: String) {
    found.withLock { $0.append(fault) }
  }

  func expect(_ condition: Bool, _ fault: @autoclosure () -> String) {
    if !condition { report(fault()) }
  }
}

// MARK: - Requests

extension CheckRun {
  func request(_ path: String = "/", _ method: HTTPMethod = .get, body: HTTPBody = .empty) throws -> HTTPRequest {
    var request = try HTTPRequest(method, server.url(path))
    request.body = body
    return request
  }

  func load(_ path: String = "/", _ change: (inout HTTPRequest) throws -> Void = { _ in }) throws -> Future<
    HTTPResponse
  > {
    var request = try request(path)
    try change(&request)
    return loader.load(request)
  }

  func stream(_ path: String = "/", _ delivery: ResponseDelivery = .stream()) throws -> Future<HTTPResponse> {
    try load(path) { $0.delivery = delivery }
  }

  /// Sends raw bytes in response to a path, and closes the connection. A response that can be whole must announce the close: a
  /// transport can send the next request over the connection before it notices the close.
  func answer(_ path: String, _ bytes: some StringProtocol, _ end: LoopbackStep = .close) {
    server.on(path, [.send(String(bytes)), end])
  }
}

// MARK: - Expectations

extension Future {
  /// Returns a future with the same outcome that is no consumer of this future. A consumer, such as an awaiting task, withholds the
  /// request of a reader that leaves its stream.
  func observed() -> Future {
    let promise = Promise<Value>()
    observe { outcome in promise.complete(with: outcome) }
    return promise.future
  }
}

extension CheckRun {
  /// Expects a success with this body, and returns the response.
  @discardableResult
  func expectBody(
    _ expected: String, of future: Future<HTTPResponse>, _ name: String
  ) async -> HTTPResponse? {
    let outcome = await future.observed().outcome
    guard case .success(let response) = outcome, let body = try? response.body else {
      report("\(name): expected a response with \(expected.utf8.count) bytes, got \(Self.text(outcome))")
      return nil
    }
    expect(body == Data(expected.utf8), "\(name): the body has \(body.count) bytes, and not those that were sent")
    return response
  }

  /// Expects a failure with an `HTTPError`.
  ///
  /// - Parameter codes: The permitted codes. None permits all codes.
  func expectFailure(
    of future: Future<HTTPResponse>, _ codes: HTTPError.Code..., name: String
  ) async {
    let outcome = await future.observed().outcome
    guard case .failure(let error as HTTPError) = outcome, codes.isEmpty || codes.contains(error.code) else {
      let expected = codes.isEmpty ? "an HTTPError" : codes.map(\.description).joined(separator: " or ")
      return report("\(name): expected \(expected), got \(Self.text(outcome))")
    }
  }

  func expectCancelled(_ future: Future<some Sendable>, _ name: String) async {
    let outcome = await future.observed().outcome
    expect(outcome.ending == .cancelled, "\(name): expected a cancelled load, got \(Self.text(outcome))")
  }

  /// Expects that the transport loads further requests.
  func expectUsable(_ name: String) async throws {
    server.on("/next", .respond(body: "next"))
    await expectBody("next", of: try load("/next"), "the next load, \(name)")
  }

  /// An outcome without the bytes of a response.
  static func text<Value>(_ outcome: Outcome<Value>) -> String {
    switch outcome {
    case .success(let response as HTTPResponse): "status \(response.status) with \(response.bodySize) bytes"
    case .success: "a success"
    case .failure(let error): "\(error)"
    case .cancelled(let reason): "a cancellation (\(reason.message))"
    }
  }
}

// MARK: - Values for checks

extension CheckRun {
  /// Returns a body that yields `size` bytes, in pieces that the transport requests. `onRead` is called before each piece.
  static func body(
    of size: Int, length: Int? = nil, onRead: @escaping @Sendable (_ count: Int) -> Void = { _ in }
  ) -> HTTPBody {
    .stream(length: length) {
      var left = size
      return HTTPBodyReader { maximum in
        let count = min(left, maximum)
        left -= count
        onRead(count)
        return Data(repeating: 0x61, count: count)
      }
    }
  }
}

/// A folder for one check, deleted with this object.
final class CheckFolder: Sendable {
  private let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("FutureTree-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: url)
  }

  /// The names of all files, including hidden files.
  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted() }

  func file(_ name: String) -> URL { url.appendingPathComponent(name) }

  func write(_ text: String, to name: String) throws -> URL {
    try Data(text.utf8).write(to: file(name))
    return file(name)
  }

  func text(of name: String) -> String? {
    (try? Data(contentsOf: file(name))).map { String(decoding: $0, as: UTF8.self) }
  }
}

/// An error that ends a check at its first fault.
struct EarlyCompletion: Error, CustomStringConvertible {
  let description: String
}

extension CheckRun {
  /// The number of loads in which the server must record a close.
  private static let closeLimit = 20

  /// Expects that the connection of a cancelled load was closed when its future completed.
  ///
  /// Call it when the future has completed. A close needs time to arrive at the server, and a busy machine delays it without
  /// limit. The measure is therefore the order of events: the server must record the close before it has answered 20 later loads.
  ///
  /// - Parameter path: The path or target of the load, whose answer the server holds.
  /// - Throws: `EarlyCompletion` if the connection is open, because further loads could wait for it.
  func expectClosed(_ path: String) async throws {
    for _ in 0..<Self.closeLimit {
      if server.connections.contains(where: { $0.wasAbandoned(while: path) }) { return }
      try await expectUsable("after the end of \(path)")
    }
    if server.connections.contains(where: { $0.wasAbandoned(while: path) }) { return }
    throw EarlyCompletion(
      description: "\(path) ended before its connection was closed: it was open after \(Self.closeLimit) later loads")
  }

  /// Expects that an upload was stopped when its future completed: its source is not read again, and its connection is closed.
  ///
  /// - Parameters:
  ///   - path: The path of the upload, whose bytes the server does not read.
  ///   - gate: The gate that holds the answer. It is opened, because the close is behind the bytes that the server has not read.
  /// - Throws: `EarlyCompletion` if the source was read again.
  func expectStopped(_ upload: EndlessUpload, _ path: String, _ gate: LoopbackGate) async throws {
    let lateRead = upload.end()
    gate.open()
    let closed = server.waitForClose(of: path).map { _ in }
    try await Future.race([closed, lateRead.observed()]).value
    if lateRead.isCompleted {
      throw EarlyCompletion(description: "the source of \(path) was read after its future had completed")
    }
  }
}

/// An upload of 1 GiB that is cancelled.
final class EndlessUpload: Sendable {
  private let hasEnded = Locked(false)
  private let lateRead = Promise<Void>()

  /// The body. Its source is read as fast as the transport sends it.
  var body: HTTPBody {
    CheckRun.body(of: 1 << 30, length: 1 << 30) { [hasEnded, lateRead] _ in
      if hasEnded.value { lateRead.succeed() }
    }
  }

  /// Registers that the load has completed.
  ///
  /// - Returns: A future that completes if the source is read afterward.
  func end() -> Future<Void> {
    hasEnded.value = true
    return lateRead.future
  }
}
