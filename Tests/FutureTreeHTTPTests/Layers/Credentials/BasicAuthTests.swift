import Foundation
import FutureTree
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Layers: BasicAuth")
struct BasicAuthTests {
  private let mock = MockLoader()
  private let aladdin = try! BasicCredentials(userName: "Aladdin", password: "open sesame")

  private func request(_ url: String = "https://example.com/") -> HTTPRequest { try! HTTPRequest(url) }

  private var sent: [String?] { mock.requests.map { $0.headers["Authorization"] } }

  @Test(
    "The examples of RFC 7617 and UTF-8 are encoded as specified",
    arguments: [
      ("Aladdin", "open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("test", "123£", "Basic dGVzdDoxMjPCow=="),
      ("", "", "Basic Og=="), ("a", "b:c", "Basic YTpiOmM="),
    ])
  func examples(userName: String, password: String, expected: String) throws {
    mock.onOthers(.status(.ok))

    _ = (BasicAuth(try BasicCredentials(userName: userName, password: password)) --> mock).load(request())

    expectEqual(sent, [expected])
  }

  @Test(
    "A colon in the user name and control characters are refused, and are not printed",
    arguments: [
      ("a:b", "secret"), ("a\u{0}", "secret"), ("a", "secret\n"), ("a", "secret\u{7F}"), ("a", "\u{85}secret"),
      ("a\r\n", "secret"),
    ])
  func refused(userName: String, password: String) {
    let error = #expect(throws: HTTPError.self) { try BasicCredentials(userName: userName, password: password) }

    expectEqual(error?.code, .invalidCredentials)
    expectEqual(error.map { "\($0)".contains("secret") }, false)
  }

  @Test("Credentials of the request take precedence, and its own header takes precedence over both")
  func own() throws {
    mock.onOthers(.status(.ok))
    let api = BasicAuth(aladdin, for: .requests { _ in false }) --> mock
    var withOption = request()
    withOption.basicCredentials = try BasicCredentials(userName: "a", password: "b")
    var withHeader = withOption
    try withHeader.setHeader("authorization", "Custom x")

    for request in [withOption, withHeader, request()] { _ = api.load(request) }

    expectEqual(sent, ["Basic YTpi", "Custom x", nil])
  }

  @Test("Only requests among the targets get credentials")
  func targets() throws {
    mock.onOthers(.status(.ok))
    let api = BasicAuth(aladdin, for: .origins(try HTTPURL("https://example.com/x"))) --> mock

    for url in [
      "https://example.com:443/a", "https://example.com:8443/", "https://sub.example.com/", "http://example.com/",
    ] {
      _ = api.load(request(url))
    }
    let path = (BasicAuth(aladdin, for: .origins(try HTTPURL("https://example.com/x"))) --> anyHost --> mock)
      .load(try HTTPRequest(.get, path: "/a"))

    expectEqual(path.text, "success")
    expectEqual(sent.map { $0 != nil }, [true, false, false, false, false])
  }

  @Test("Plain HTTP is refused before the provider is called, except to this machine or if it is allowed")
  func insecure() {
    let calls = Locked(0)
    let credentials = aladdin
    mock.onOthers(.status(.ok))
    let layer = BasicAuth {
      calls.withLock { $0 += 1 }
      return .succeeded(credentials)
    }

    let refused = [
      "http://example.com/", "http://127.0.0.1.example.com/", "http://localhost.example.com/", "http://126.0.0.1/",
    ]
    .map { (layer --> mock).load(request($0)) }
    expectEqual(refused.map(\.text), Array(repeating: "insecureCredentials", count: 4))
    expectEqual(calls.value, 0)
    #expect(mock.requests.isEmpty)
    let passed = ["http://localhost:8080/", "http://127.9.0.1/", "http://[::1]/", "https://example.com/"]
      .map { (layer --> mock).load(request($0)) }
    let allowed = (BasicAuth(aladdin, allowsInsecureConnections: true) --> mock).load(request("http://example.com/"))
    var own = request("http://example.com/")
    own.basicCredentials = aladdin
    let ownRefused = (BasicAuth(aladdin) --> mock).load(own)

    expectEqual(passed.map(\.text), Array(repeating: "success", count: 4))
    expectEqual(allowed.text, "success")
    expectEqual(ownRefused.text, "insecureCredentials")
    expectEqual(mock.requests.count, 5)
    expectEqual((BasicAuth(aladdin) --> mock).load(try! HTTPRequest(.get, path: "/")).text, "missingHost")
  }

  @Test("Concurrent loads share one call of the provider, which is cancelled with the last load")
  func shared() {
    let calls = Locked<[Promise<BasicCredentials?>]>([])
    let layer = BasicAuth {
      let promise = Promise<BasicCredentials?>()
      calls.withLock { $0.append(promise) }
      return promise.future
    }
    mock.onOthers(.status(.ok))
    let api = layer --> mock
    let loads = (0..<4).map { _ in api.load(request()) }
    let promise = calls.value[0]

    loads[0].cancel()
    loads[1].cancel(.forceImmediately)
    expectEqual(loads.map(\.text), ["cancelled", "cancelled", "pending", "pending"])
    #expect(promise.cancelRequest == nil)
    promise.succeed(aladdin)

    expectEqual(loads.map(\.text), ["cancelled", "cancelled", "success", "success"])
    expectEqual(calls.value.count, 1)
    expectEqual(mock.requests.count, 2)
    let last = [api.load(request()), api.load(request())]
    for load in last { load.cancel() }
    expectEqual(
      last.map(\.text), ["cancelled", "cancelled"], "A provider that does not complete delays no cancelled load.")
    #expect(calls.value.count == 2 && calls.value[1].cancelRequest != nil)
    calls.value[1].succeed(aladdin)
    expectEqual(mock.requests.count, 2)
    let after = api.load(request())
    expectEqual(calls.value.count, 3, "Earlier credentials are not retained.")
    calls.value[2].succeed(nil)
    expectEqual(after.text, "success")
    expectEqual(sent.last, .some(nil))
    calls.value = []
  }

  @Test("A failed provider fails the load with its own code, and a cancelled provider cancels the load")
  func failing() {
    let failed = (BasicAuth { .failed(Oops()) } --> mock).load(request())
    let threw = (BasicAuth { throw Oops() } --> mock).load(request())
    let cancelled = (BasicAuth { .cancelled("the dialog was closed") } --> mock).load(request())

    expectEqual(
      [failed, threw, cancelled].map(\.text), ["credentialsUnavailable", "credentialsUnavailable", "cancelled"])
    #expect(mock.requests.isEmpty)
  }

  @Test("A reset ends the waiting loads, and no later load gets the credentials of the earlier call")
  func reset() {
    let calls = Locked<[Promise<BasicCredentials?>]>([])
    let end = HeldResets()
    let layer = BasicAuth {
      let promise = Promise<BasicCredentials?>()
      calls.withLock { $0.append(promise) }
      return promise.future
    }
    let api = layer --> end
    end.mock.onOthers(.status(.ok))
    let before = (0..<2).map { _ in api.load(request()) }

    let reset = api.reset()
    let during = api.load(request())
    expectEqual(before.map(\.text), ["cancelled", "cancelled"])
    expectEqual(calls.value.count, 2)
    expectEqual(calls.value[0].cancelRequest?.reason.kind, .reset)
    calls.value[0].succeed(aladdin)
    end.endReset()
    expectEqual(reset.text, "success")
    expectEqual(during.text, "pending")
    #expect(end.mock.requests.isEmpty)
    calls.value[1].succeed(nil)

    #expect(during.text == "success" && end.mock.requests.map { $0.headers["Authorization"] } == [nil])
    calls.value = []
  }

  @Test("A load that begins during a reset does not get the credentials of the earlier call")
  func duringReset() {
    let calls = Locked<[Promise<BasicCredentials?>]>([])
    let api =
      BasicAuth {
        let promise = Promise<BasicCredentials?>()
        calls.withLock { $0.append(promise) }
        return promise.future
      } --> mock
    mock.onOthers(.status(.ok))
    let during = Locked<Future<HTTPResponse>?>(nil)
    let request = request()
    let loads = (0..<2).map { _ in api.load(request) }
    loads[0].observe { _ in during.value = api.load(request) }

    let reset = api.reset()
    expectEqual(calls.value.count, 2)
    calls.value[0].succeed(aladdin)

    #expect(during.value?.text == "pending" && mock.requests.isEmpty && loads[1].text == "cancelled")
    calls.value[1].succeed(nil)
    #expect(during.value?.text == "success" && sent == [nil] && reset.text == "success")
    calls.value = []
  }

  @Test("A cancellation request is forwarded to the sent request")
  func forwards() {
    let held = mock.hold()
    let load = (BasicAuth(aladdin) --> mock).load(request())

    load.cancel()

    #expect(held.cancelRequest != nil)
    expectEqual(load.text, "pending")
    held.answer()
    expectEqual(load.text, "success")
  }

  @Test("Nothing printable shows the credentials (H11, no printed secret)")
  func redacted() throws {
    var printed = ""
    var request = request()
    request.basicCredentials = aladdin
    dump(aladdin, to: &printed)
    dump(BasicAuth(aladdin), to: &printed)
    dump(request, to: &printed)
    printed += "\(aladdin) \(String(reflecting: aladdin)) \(Optional(aladdin) as Any) \([aladdin]) \(request)"
    printed += String(describing: mock.requests)

    #expect(!printed.contains("sesame") && !printed.contains("Aladdin") && !printed.contains("QWxh"))
  }
}

@Suite("Layers: BearerAuth")
struct BearerAuthTests {
  private let mock = MockLoader()

  @Test("The token of RFC 6750 is sent from the layer, from a provider and from the request")
  func example() throws {
    let token = try BearerToken("mF_9.B5f-4.1JqM")
    mock.onOthers(.status(.ok))
    var own = try HTTPRequest("https://example.com/")
    own.bearerToken = try BearerToken("own")

    _ = (BearerAuth(token) --> mock).load(try HTTPRequest("https://example.com/"))
    _ = (BearerAuth { .succeeded(token) } --> mock).load(try HTTPRequest("https://example.com/"))
    _ = (BearerAuth(token) --> mock).load(own)

    expectEqual(
      mock.requests.map { $0.headers["Authorization"] },
      [
        "Bearer mF_9.B5f-4.1JqM", "Bearer mF_9.B5f-4.1JqM", "Bearer own",
      ])
  }

  @Test(
    "Invalid tokens are refused, and are not printed",
    arguments: ["", "secret ", "sec ret", "secret\n", "secrét", "\tsecret"])
  func refused(text: String) {
    let error = #expect(throws: HTTPError.self) { try BearerToken(text) }

    expectEqual(error?.code, .invalidCredentials)
    expectEqual(error.map { "\($0)".contains("sec") }, false)
  }

  @Test("Plain HTTP is refused, and nothing printable shows the token")
  func secrets() throws {
    let token = try BearerToken("sesame")
    var printed = "\(token) \(String(reflecting: token)) \(Optional(token) as Any)"
    dump(BearerAuth(token), to: &printed)

    expectEqual((BearerAuth(token) --> mock).load(anyRequest()).text, "insecureCredentials")
    #expect(!printed.contains("sesame"))
  }
}
