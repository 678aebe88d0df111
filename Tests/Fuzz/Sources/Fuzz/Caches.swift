import Foundation
import FutureTree
import FutureTreeHTTP

@testable import FutureTreeHTTPStore

/// A response from the cache was sent to the same user for the same URL, may be stored and is not stale, and the limits apply.
func fuzzCaches(_ bytes: [UInt8]) throws {
  var input = Input(bytes)
  let server = ScriptedServer()
  let cache = HTTPCache(
    limits: .init(total: 4000, perEntry: 3000), date: WallClock { Date(timeIntervalSince1970: server.seconds) })
  let api = CacheResponses(in: cache) --> server
  for _ in 0..<6 {
    let choice = input.byte()
    var request = try HTTPRequest("http://a/\(choice & 1)")
    try? request.setHeader("Authorization", "user-\(choice >> 1 & 1)")
    if let demand = try? HTTPHeaders([("Cache-Control", input.text())]) {
      try request.setHeader("Cache-Control", demand["Cache-Control"]!)
    }
    if choice & 4 != 0 { try? request.setHeader("Accept", input.text()) }
    server.fields = ["Cache-Control", "Expires", "Age", "Date", "Last-Modified", "Vary", "ETag"].map {
      ($0, input.text())
    }
    server.status = HTTPStatus(choice & 8 == 0 ? 200 : 200 + Int(input.byte()) * 2)
    server.seconds += Double(input.byte())
    let sent = server.answers.count
    guard case .success(let response)? = api.load(request).outcomeIfCompleted else { continue }
    check(cache.size <= 4000 && (cache.count > 0) == (cache.size > 0), "The limits do not apply: \(cache)")
    guard server.answers.count == sent else { continue }
    let (user, body) = (request.headers["Authorization"]!, try response.body)
    guard let answer = server.answers.last(where: { $0.body == body }) else {
      fail("The server did not send this body.")
    }
    check(answer.path == request.path && answer.user == user, "The response belongs to another URL or user.")
    let control = answer.control.lowercased()
    check(!control.contains("no-store") || control.contains("must-understand"), "It must not be stored: \(control)")
    let age = response.headers.values(for: "Age")
    check(age.count == 1 && Int(age[0]).map { $0 >= 0 } == true, "The age is \(age).")
    let status = response.headers.values(for: "Cache-Status").last ?? ""
    let ttl = status.split(separator: "ttl=").last.flatMap { Int($0) } ?? -1
    let allowsStale =
      control.contains("stale-while") || (request.headers["Cache-Control"] ?? "").lowercased().contains("stale")
    check(ttl >= 0 || allowsStale, "It is stale: \(status), \(control)")
  }
}

/// A server whose answers have bodies of their own.
private final class ScriptedServer: HTTPLoader, @unchecked Sendable {  // Because: the target runs on one thread.
  struct Answer {
    let path: String
    let user: String
    let control: String
    let body: Data
  }

  var seconds = 1_800_000_000.0
  var fields: [(String, String)] = []
  var status = HTTPStatus.ok
  var answers: [Answer] = []

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    var headers = HTTPHeaders()
    for (name, value) in fields { try? headers.add(name, value) }
    let number = answers.count
    let body = Data("\(number)".utf8) + Data(count: number * 500)
    let answer = Answer(
      path: request.path, user: request.headers["Authorization"] ?? "", control: headers["Cache-Control"] ?? "",
      body: body)
    answers.append(answer)
    return .succeeded(HTTPResponse(to: request, status: status, headers: headers, body: body))
  }

  func reset() -> Future<Void> { .succeeded }
}
