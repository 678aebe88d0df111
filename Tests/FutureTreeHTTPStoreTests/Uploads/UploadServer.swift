import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

/// A server that supports both protocols. It is pure: a test gives it the parts of a request.
struct UploadServer {
  /// What happens to a request.
  enum Fault: Sendable {
    case none
    /// The server receives nothing.
    case lost
    /// The server receives the first bytes of the body, and the connection is lost.
    case cut(Int)
    /// The server receives the first bytes of the body, and answers as if they were all.
    case short(Int)
    /// The server receives the whole body, and its response is lost.
    case unanswered
    /// The response has another status, and the server receives nothing.
    case status(Int)
    /// The response has another field.
    case field(String, String)
    /// The response does not have a field.
    case without(String)
  }

  struct Upload {
    var bytes = Data()
    let length: Int
    var isComplete = false
  }

  struct Answer {
    var status: Int
    var fields: [(String, String)] = []
    /// The fields of an interim response with the status 104.
    var interim: [(String, String)]?
    var isLost = false
  }

  var uploads: [String: Upload] = [:]
  /// The faults of the next requests.
  var faults: [Fault] = []
  /// Whether a draft's upload is announced by an interim response.
  var announces = true
  /// The prefix of the field `Location`.
  var prefix = "/uploads/"
  var partLimit: Int?

  mutating func answer(_ method: String, _ path: String, _ field: (String) -> String?, body: Data) -> Answer {
    let fault = faults.isEmpty ? .none : faults.removeFirst()
    var received = body
    switch fault {
    case .lost: return Answer(status: 0, isLost: true)
    case .status(let status): return Answer(status: status)
    case .cut(let count), .short(let count): received = body.prefix(count)
    case .none, .unanswered, .field, .without: break
    }
    var answer =
      switch method {
      case "HEAD": offset(path, field)
      case "PATCH": append(received, path, field, isWhole: received.count == body.count)
      default: create(received, field, isWhole: received.count == body.count)
      }
    switch fault {
    case .cut, .unanswered: answer.isLost = true
    case .field(let name, let value):
      answer.fields = answer.fields.filter { $0.0 != name } + [(name, value)]
    case .without(let name): answer.fields.removeAll { $0.0 == name }
    case .none, .lost, .short, .status: break
    }
    return answer
  }

  private func isTus(_ field: (String) -> String?) -> Bool { field("Tus-Resumable") == "1.0.0" }

  private mutating func create(_ body: Data, _ field: (String) -> String?, isWhole: Bool) -> Answer {
    guard let length = field("Upload-Length").flatMap({ Int($0) }) else { return Answer(status: 400) }
    let number = uploads.count + 1
    var upload = Upload(length: length)
    let location = ("Location", "\(prefix)\(number)")
    defer { uploads["/uploads/\(number)"] = upload }
    guard field("Upload-Draft-Interop-Version") == "8" else {
      return isTus(field) && body.isEmpty ? Answer(status: 201, fields: [location]) : Answer(status: 412)
    }
    upload.bytes = body
    upload.isComplete = isWhole && field("Upload-Complete") == "?1"
    let limit = partLimit.map { [("Upload-Limit", "max-size=100, max-append-size=\($0)")] } ?? []
    return Answer(
      status: 201, fields: [location, ("Upload-Complete", upload.isComplete ? "?1" : "?0")],
      interim: announces ? [location, ("Upload-Draft-Interop-Version", "8")] + limit : nil)
  }

  private func offset(_ path: String, _ field: (String) -> String?) -> Answer {
    guard let upload = uploads[path] else { return Answer(status: 404) }
    let offset = ("Upload-Offset", "\(upload.bytes.count)")
    guard !isTus(field) else { return Answer(status: 200, fields: [offset, ("Upload-Length", "\(upload.length)")]) }
    return Answer(status: 204, fields: [offset, ("Upload-Complete", upload.isComplete ? "?1" : "?0")])
  }

  private mutating func append(_ body: Data, _ path: String, _ field: (String) -> String?, isWhole: Bool) -> Answer {
    guard var upload = uploads[path] else { return Answer(status: 404) }
    guard field("Upload-Offset") == "\(upload.bytes.count)" else { return Answer(status: 409) }
    guard
      field("Content-Type") == (isTus(field) ? "application/offset+octet-stream" : "application/partial-upload"),
      body.count <= partLimit ?? .max, upload.bytes.count + body.count <= upload.length
    else { return Answer(status: 415) }
    upload.bytes += body
    upload.isComplete = isWhole && field("Upload-Complete") == "?1"
    uploads[path] = upload
    let offset = ("Upload-Offset", "\(upload.bytes.count)")
    guard !isTus(field) else { return Answer(status: 204, fields: [offset]) }
    return Answer(status: 200, fields: [("Upload-Complete", upload.isComplete ? "?1" : "?0")])
  }
}

/// The loads of a film to an upload server, each by new layers, as in another run of the program.
final class UploadRuns: Sendable {
  static let film = "0123456789"

  let folder: Folder
  let uploadProtocol: UploadProtocol
  let server: Locked<UploadServer>

  init(_ uploadProtocol: UploadProtocol, _ faults: UploadServer.Fault...) throws {
    folder = try Folder()
    self.uploadProtocol = uploadProtocol
    server = Locked(UploadServer(faults: faults))
    _ = try folder.write(UploadRuns.film, to: "film")
  }

  var directory: URL { folder.file("uploads") }

  /// The names of the records.
  var records: [String] { (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? [] }

  /// The bytes that the server has.
  var received: [String] {
    server.value.uploads.sorted { $0.key < $1.key }.map { String(decoding: $0.value.bytes, as: UTF8.self) }
  }

  func run(_ strategy: RetryStrategy = .immediately(attempts: 5), after layer: (any HTTPLayer)? = nil) -> UploadRun {
    UploadRun(self, strategy, layer)
  }

  /// Makes a run that is interrupted after some bytes.
  func interrupt(after count: Int) async throws {
    let isTus = uploadProtocol == .tus
    server.withLock { $0.faults = isTus ? [.none, .cut(count)] : [.cut(count)] }
    let run = run(.immediately(attempts: 1))
    await expectEqual(try run.load().outcome.code, .connectionLost)
    expectEqual(received, [String(UploadRuns.film.prefix(count))])
    expectEqual(records.count, 1)
  }
}

/// One run of the program.
struct UploadRun {
  let mock = MockLoader()
  let clock = ManualClock()
  let layer: ResumeUploads
  let api: any HTTPLoader
  private let file: URL

  init(_ runs: UploadRuns, _ strategy: RetryStrategy, _ outer: (any HTTPLayer)?) {
    layer = ResumeUploads(
      runs.uploadProtocol, directory: runs.directory, strategy: strategy, clock: clock, random: .seeded(1))
    let chained: any HTTPLoader = layer --> mock
    api = outer.map { chain($0, before: chained) } ?? chained
    file = runs.folder.file("film")
    mock.onOthers(
      .make { request in
        let body = request.body.isEmpty ? Data() : try Self.bytes(of: request.body)
        request.progress?(HTTPProgress(sent: .init(completed: body.count / 2, total: body.count)))
        let answer = runs.server.withLock {
          $0.answer(request.method.name, request.path, { name in request.field(name) }, body: body)
        }
        if let interim = answer.interim {
          let response = HTTPResponse(
            to: request, status: HTTPStatus(104), headers: try HTTPHeaders(NameValuePairs(interim)))
          request.onInterimResponse?(response)
        }
        guard !answer.isLost else { throw lost }
        request.progress?(HTTPProgress(sent: .init(completed: body.count, total: body.count)))
        return HTTPResponse(
          to: request, status: HTTPStatus(answer.status), headers: try HTTPHeaders(NameValuePairs(answer.fields)))
      }.forever())
  }

  private static func bytes(of body: HTTPBody) throws -> Data {
    let reader = try body.makeReader()
    var bytes = Data()
    while case let next = try reader.read(upTo: 3), !next.isEmpty { bytes += next }
    return bytes
  }

  func load(
    _ method: HTTPMethod = .post, configure: (inout HTTPRequest) throws -> Void = { _ in }
  ) throws -> Future<HTTPResponse> {
    var request = try HTTPRequest(method, "http://example.com/films")
    request.body = .file(file, contentType: "video/mp4")
    try configure(&request)
    return api.load(request)
  }

  /// The methods and paths of all requests, with the offsets of their parts.
  var requests: [String] {
    mock.requests.map { request in
      "\(request.method.name) \(request.path)\(request.headers["Upload-Offset"].map { " \($0)" } ?? "")"
    }
  }
}

extension HTTPRequest {
  /// The value of a field as a transport sends it.
  fileprivate func field(_ name: String) -> String? {
    headers[name] ?? (name == "Content-Type" ? body.contentType : nil)
  }
}
