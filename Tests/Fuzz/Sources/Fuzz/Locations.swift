import Foundation
import FutureTree
import FutureTreeHTTP

/// A `Location` resolves to an unambiguous URL that may be followed, or to an error with a reason. A redirect never takes
/// credentials to another origin.
func fuzzLocations(_ bytes: [UInt8]) throws {
  var input = Input(bytes)
  let status = [301, 302, 303, 307, 308][Int(input.byte()) % 5]
  let text = input.text()
  let base = try (try? HTTPURL(text)) ?? HTTPURL("https://a.example:8443/b/c/d;p?q")
  guard let headers = try? HTTPHeaders([("Location", input.text())]) else { return }
  var request = HTTPRequest(.post, base)
  for name in ["Authorization", "Cookie", "X-Session"] { try request.setHeader(name, "secret") }
  request.sensitiveHeaders.insert("X-Session")
  request.body = .data(Data("body".utf8))

  let server = Elsewhere(status: HTTPStatus(status), headers)
  let outcome = (Redirect() --> server).load(request).outcomeIfCompleted

  switch outcome {
  case .success(let response):
    check(response.redirections.map(\.url) == [base], "The way is another: \(response.redirections)")
    checkStep(from: base, to: server.requests.value[1], status)
  case .failure(let error as HTTPError):
    check([.invalidRedirect, .insecureRedirect].contains(error.code), "It has another error: \(error)")
    check(server.requests.value.count == 1 && error.response != nil, "A request was sent, or the answer is missing.")
    check(!error.message.contains("\n"), "The error spans lines.")
  default:
    fail("It ended as \(String(describing: outcome)).")
  }
}

private func checkStep(from base: HTTPURL, to request: HTTPRequest, _ status: Int) {
  guard let url = request.url else { fail("There is no URL.") }
  checkMeaning(of: url)
  check(base.scheme == .http || url.scheme == .https, "It leads from https to http: \(url)")
  let isSame = origin(of: base) == origin(of: url)
  for name in ["Authorization", "Cookie", "X-Session"] {
    check(request.headers.contains(name) == isSame, "\(name) is wrong on the way from \(base) to \(url)")
  }
  let keepsBody = status > 303
  check(request.method == (keepsBody ? .post : .get), "The method is \(request.method) after \(status).")
  check(request.body.isEmpty != keepsBody, "The body is wrong after \(status).")
}

/// Returns the origin as the platform parses it, because the platform connects.
private func origin(of url: HTTPURL) -> [String] {
  guard let parts = URLComponents(string: url.absoluteString), let scheme = parts.scheme, let host = parts.host else {
    fail("The platform does not read \(url.absoluteString)")
  }
  return [scheme.lowercased(), host.lowercased(), "\(parts.port ?? (scheme.lowercased() == "http" ? 80 : 443))"]
}

/// Redirects the first request, and answers the second one.
private final class Elsewhere: HTTPLoader {
  let requests = Recorded()
  private let status: HTTPStatus
  private let headers: HTTPHeaders

  init(status: HTTPStatus, _ headers: HTTPHeaders) {
    self.status = status
    self.headers = headers
  }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    requests.append(request)
    let isFirst = requests.value.count == 1
    return .succeeded(HTTPResponse(to: request, status: isFirst ? status : .ok, headers: headers))
  }

  func reset() -> Future<Void> { .succeeded(()) }
}

private final class Recorded: @unchecked Sendable {  // Because: all code runs on one thread.
  private(set) var value: [HTTPRequest] = []

  func append(_ request: HTTPRequest) { value.append(request) }
}
