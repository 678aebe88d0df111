import Foundation
import FutureTree
import FutureTreeHTTPTesting
import Synchronization

/// An API on loopback that misbehaves on purpose, with the authorization server that its tokens come from.
final class Server: Sendable {
  static let redirectURI = "com.example.notes:/signed-in"
  /// How all that it gives out begins.
  static let secrets = ["access-", "refresh-", "code-"]

  private let api: LoopbackServer
  /// Another port, and so another origin.
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

  /// Answers requests that have the token of the moment in turn; the last answer repeats. All others are answered with 401.
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

// MARK: - What the example says

extension Server {
  /// Holds back the answers to these paths until `answer`.
  func hold(_ paths: String...) {
    gates.withLock { gates in
      for path in paths { gates[path] = LoopbackGate() }
    }
  }

  /// Lets the answers to these paths go, in this order.
  func answer(_ paths: String...) {
    let gates = gates.withLock { gates in paths.compactMap { gates.removeValue(forKey: $0) } }
    for gate in gates { gate.open() }
  }

  /// From now on the token that clients have is not taken.
  func revokeToken() { tokens.withLock { $0.access = nil } }

  private func held(_ path: String, _ answer: LoopbackAnswer) -> LoopbackAnswer {
    gates.withLock { $0[path].map { answer.held(by: $0) } ?? answer }
  }
}

// MARK: - What it has seen

extension Server {
  /// Ends when this many requests have come to each of these paths.
  func waitForRequests(to paths: String..., count: Int = 1) async throws {
    for path in paths { _ = try await api.waitForRequest(to: path, count: count).value }
  }

  /// Ends when the client has closed the connections on which it waited for these paths.
  func waitForClose(of paths: String...) async throws {
    for path in paths { _ = try await api.waitForClose(of: path).value }
  }

  func requestCount(to paths: String...) -> Int { paths.reduce(0) { $0 + api.record.requestCount(to: $1) } }

  /// How often a page was shown, and what tokens were asked for with.
  var logIns: String { tokens.withLock { "\($0.pages) page\($0.pages == 1 ? "" : "s"), tokens for \($0.grants)" } }

  /// How many requests came with the token that was given out at this place in the order, counted from 1.
  func requestCount(withToken number: Int) -> Int {
    api.requests.count { $0.values(for: "Authorization") == ["Bearer access-\(number)"] }
  }

  /// Whether a request for a picture had a token.
  var pictureHadToken: Bool { pictures.requests.contains { !$0.values(for: "Authorization").isEmpty } }
}

// MARK: - Tokens

extension Server {
  /// The page on which somebody logs in: here it leads to the redirect URI at once, with a code (RFC 6749, section 4.1.2).
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

  /// The credentials that were given out. One client has one at a time.
  private struct Tokens {
    var access: String?
    private(set) var pages = 0
    private var refresh: String?
    private var code: String?
    private var count = 0
    private var asked: [String] = []

    /// What tokens were asked for with, in order.
    var grants: String { asked.isEmpty ? "nothing" : asked.joined(separator: ", ") }

    func accept(_ request: LoopbackRequest) -> Bool {
      access.map { request.values(for: "Authorization") == ["Bearer \($0)"] } ?? false
    }

    /// The code for a page that was asked for with PKCE.
    mutating func code(for fields: [String: String]) -> String? {
      guard fields["response_type"] == "code", fields["redirect_uri"] == Server.redirectURI,
        fields["code_challenge_method"] == "S256", fields["code_challenge"]?.count == 43
      else { return nil }
      pages += 1
      code = "code-\(pages)"
      return code
    }

    /// A token for a code or for a refresh token, each of which is taken once. A real server also compares the hash of the
    /// verifier with the challenge that came with the page.
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

    /// The fields of a form or a query.
    static func fields(of text: Substring) -> [String: String] {
      var parts = URLComponents()
      parts.percentEncodedQuery = String(text)
      return Dictionary((parts.queryItems ?? []).map { ($0.name, $0.value ?? "") }) { first, _ in first }
    }
  }
}
