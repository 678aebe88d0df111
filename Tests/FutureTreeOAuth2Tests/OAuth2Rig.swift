import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeOAuth2

/// A chain with an `OAuth2` layer over two mocks, with the access token `a1` and the refresh token `r1` in its store.
struct OAuth2Rig {
  let clock = ManualClock()
  let mock = MockLoader()
  let tokens = MockLoader()
  let store: MemoryCredentialStore
  let oauth: OAuth2
  let api: any HTTPLoader

  static let start = Date(timeIntervalSince1970: 1_800_000_000)

  /// - Parameter life: The lifetime of the stored token in seconds.
  init(
    _ grant: OAuth2Grant = .storedCredential, isEmpty: Bool = false, refreshToken: String? = "r1", life: Double? = 3600,
    client: OAuth2Client = .public(id: "app"), tokenTimeout: Duration = .seconds(60),
    rejection: TokenRejection = .bearer, adaptReply: OAuth2Configuration.ReplyAdapter? = nil
  ) {
    let credential = OAuth2Credential(
      accessToken: try! BearerToken("a1"), refreshToken: refreshToken,
      expires: life.map { OAuth2Rig.start.addingTimeInterval($0) })
    store = MemoryCredentialStore(isEmpty ? nil : credential)
    let configuration = OAuth2Configuration(
      client: client, tokenEndpoint: try! HTTPURL("https://id.example.com/token"), scope: ["read", "write"],
      grant: grant, adaptReply: adaptReply)
    oauth = OAuth2(
      configuration, store: store, tokens: tokens, rejection: rejection, tokenTimeout: tokenTimeout, clock: clock,
      date: clock.wallClock(), random: .seeded(1))
    api = (oauth --> mock)
  }

  func request(_ path: String = "/", body: String? = nil) -> HTTPRequest {
    var request = try! HTTPRequest(body == nil ? .get : .post, "https://api.example.com\(path)")
    if let body { request.body = .data(Data(body.utf8)) }
    return request
  }

  /// Responds with 401 to the token `a1`, and echoes the body for every other token.
  func refuseFirstToken() {
    mock.onOthers(
      .make { request in
        let isFirst = request.headers["Authorization"] == "Bearer a1"
        return HTTPResponse(
          to: request, status: isFirst ? .unauthorized : .ok, body: request.body.data ?? Data("none".utf8))
      })
  }

  /// The bearer tokens that were sent, in order.
  var sent: [String] { mock.requests.map { $0.headers["Authorization"].map { String($0.dropFirst(7)) } ?? "-" } }

  /// The bodies of the requests to the token endpoint.
  var asked: [String] { tokens.requests.map { String(decoding: $0.body.data ?? Data(), as: UTF8.self) } }

  static func json(_ number: Int, life: Int = 3600) -> String {
    #"{"access_token":"a\#(number)","token_type":"Bearer","expires_in":\#(life),"refresh_token":"r\#(number)"}"#
  }

  static func refresh(_ number: Int) -> String { "grant_type=refresh_token&refresh_token=r\(number)&client_id=app" }

  /// Whether no load waits, no work is in flight, and no timer is set.
  var isIdle: Bool { oauth.isIdle && clock.timerCount == 0 && mock.pendingCount == 0 && tokens.pendingCount == 0 }
}
