import Foundation
import FutureTree
import FutureTreeHTTPTesting
import Synchronization

/// An API on loopback that misbehaves on purpose, and the authorization server that issues its tokens.
final class Server: Sendable {
  static let redirectURI = "com.example.notes:/signed-in"
  /// The prefixes of all secrets that the server issues.
  static let secrets = ["access-", "refresh-", "code-"]

  private let api: LoopbackServer
  /// A server on another port, and therefore another origin.
  private let pictures: LoopbackServer
  private let tokens = Mutex(Tokens())
  private let gates = Mutex<[String: LoopbackGate]>([:])

  init() throws {
    api = try LoopbackServer()
    pictures = try LoopbackServer()
    api.on("/authorize") { [weak self] in self?.page($0) ?? .close }
    api.on("/token") { [weak self] in self?.token($0) ?? .close }

    let names = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ivo", "Jo", "Kim", "Leo"]
    for (id, name) in zip(1..., names) {
      serve("/users/\(id)", .json(#"{"id": \#(id), "name": "\#(name)"}"#))
    }
    serve(
      "/users/1/notes", .status(503, headers: [("Retry-After", "30")]), .json(#"[{"text": "one"}, {"text": "two"}]"#))
    serve("/users/1/notes", method: "POST", .json(#"{"text": "three"}"#, status: 201))
    serve("/me", .status(302, headers: [("Location", "/users/1")]))
    serve("/users/1/picture", .status(302, headers: [("Location", pictures.url("/1.png"))]))
    pictures.on(
      "/1.png", .respond(headers: [("Content-Type", "image/png")], body: [UInt8](repeating: 0x2E, count: 2_000)))
    let cut: LoopbackAnswer = [
      .send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 28\r\n\r\n{\"month\": "), .close,
    ]
    serve("/reports/may", cut, .json(#"{"month": "may", "pages": 5}"#))
    serve("/reports/june", .stall, .json(#"{"month": "june", "pages": 6}"#))
    serve("/reports/july", .status(503, headers: [("Retry-After", "5")]))
    serve("/reports/august", .status(503, headers: [("Retry-After", "90")]))
  }

  var port: UInt16 { UInt16(api.port) }

  func url(_ path: String) -> String { api.url(path) }

  /// Answers requests that have a valid token in turn. The last answer repeats. Answers other requests with 401.
  private func serve(_ path: String, method: String = "GET", _ answers: LoopbackAnswer...) {
    let served = Mutex(0)
    api.on(path, method: method) { [weak self] request in
      guard let self else { return .close }
      guard tokens.withLock({ $0.accept(request) }) else {
        return held(path, .status(401, headers: [("WWW-Authenticate", #"Bearer error="invalid_token""#)]))
      }
      let count = served.withLock { count in
        defer { count += 1 }
        return count
      }
      return held(path, answers[min(count, answers.count - 1)])
    }
  }
}

// MARK: - Control by the example

extension Server {
  /// Holds the answers to these paths until `answer` is called.
  func hold(_ paths: String...) {
    gates.withLock { gates in
      for path in paths { gates[path] = LoopbackGate() }
    }
  }

  /// Releases the answers to these paths, in this order.
  func answer(_ paths: String...) {
    let gates = gates.withLock { gates in paths.compactMap { gates.removeValue(forKey: $0) } }
    for gate in gates { gate.open() }
  }

  /// Revokes the current token.
  func revokeToken() { tokens.withLock { $0.access = nil } }

  private func held(_ path: String, _ answer: LoopbackAnswer) -> LoopbackAnswer {
    gates.withLock { $0[path].map { answer.held(by: $0) } ?? answer }
  }
}

// MARK: - Observations

extension Server {
  /// Waits until `count` requests to each of these paths have arrived.
  func waitForRequests(to paths: String..., count: Int = 1) async throws {
    for path in paths { _ = try await api.waitForRequest(to: path, count: count).value }
  }

  /// Waits until the client has closed the connections of the requests to these paths.
  func waitForClose(of paths: String...) async throws {
    for path in paths { _ = try await api.waitForClose(of: path).value }
  }

  func requestCount(to paths: String...) -> Int { paths.reduce(0) { $0 + api.record.requestCount(to: $1) } }

  /// The number of login pages shown, and the grants for which tokens were issued.
  var logIns: String { tokens.withLock { "\($0.pages) page\($0.pages == 1 ? "" : "s"), tokens for \($0.grants)" } }

  /// Returns the number of requests with the token of this number. Tokens are numbered from 1 in the order of issue.
  func requestCount(withToken number: Int) -> Int {
    api.requests.count { $0.values(for: "Authorization") == ["Bearer access-\(number)"] }
  }

  /// Whether a request for a picture carried a token.
  var pictureHadToken: Bool { pictures.requests.contains { !$0.values(for: "Authorization").isEmpty } }
}

// MARK: - Tokens

extension Server {
  /// Answers with the login page. Here it redirects at once to the redirect URI, with a code (RFC 6749, section 4.1.2).
  private func page(_ request: LoopbackRequest) -> LoopbackAnswer {
    let fields = Tokens.fields(of: request.target.drop { $0 != "?" }.dropFirst())
    guard let code = tokens.withLock({ $0.code(for: fields) }) else { return .status(400) }
    let location = "\(Self.redirectURI)?code=\(code)&state=\(fields["state"] ?? "")"
    return held("/authorize", .status(302, headers: [("Location", location)]))
  }

  private func token(_ request: LoopbackRequest) -> LoopbackAnswer {
    let answer = tokens.withLock { $0.granted(Tokens.fields(of: request.text[...])) }
    return held("/token", answer.map { .json($0) } ?? .json(#"{"error": "invalid_grant"}"#, status: 400))
  }

  /// The issued credentials. One client has one at a time.
  private struct Tokens {
    var access: String?
    private(set) var pages = 0
    private var refresh: String?
    private var code: String?
    private var count = 0
    private var asked: [String] = []

    /// The grants of the token requests, in order.
    var grants: String { asked.isEmpty ? "nothing" : asked.joined(separator: ", ") }

    func accept(_ request: LoopbackRequest) -> Bool {
      access.map { request.values(for: "Authorization") == ["Bearer \($0)"] } ?? false
    }

    /// Returns the code for a login page that was requested with PKCE.
    mutating func code(for fields: [String: String]) -> String? {
      guard fields["response_type"] == "code", fields["redirect_uri"] == Server.redirectURI,
        fields["code_challenge_method"] == "S256", fields["code_challenge"]?.count == 43
      else { return nil }
      pages += 1
      code = "code-\(pages)"
      return code
    }

    /// Returns a token for an authorization code or a refresh token. Each is accepted once. A real server also compares the
    /// hash of the verifier with the challenge of the login page.
    mutating func granted(_ fields: [String: String]) -> String? {
      switch fields["grant_type"] {
      case "authorization_code":
        guard let code = code.take(), fields["code"] == code, fields["code_verifier"]?.count == 43 else { return nil }
      case "refresh_token":
        guard let refresh = refresh.take(), fields["refresh_token"] == refresh else { return nil }
      default: return nil
      }
      asked.append(fields["grant_type"] == "refresh_token" ? "a refresh token" : "a code")
      count += 1
      (access, refresh) = ("access-\(count)", "refresh-\(count)")
      return """
        {"access_token": "access-\(count)", "refresh_token": "refresh-\(count)", "token_type": "Bearer", "expires_in": 3600}
        """
    }

    /// Parses the fields of a form or a query.
    static func fields(of text: Substring) -> [String: String] {
      var parts = URLComponents()
      parts.percentEncodedQuery = String(text)
      return Dictionary((parts.queryItems ?? []).map { ($0.name, $0.value ?? "") }) { first, _ in first }
    }
  }
}
