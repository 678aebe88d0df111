import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: Redirect, refusals and limits")
struct RedirectRefusalTests {
  private let mock = MockLoader()
  private var api: any HTTPLoader { Redirect() --> mock }

  @Test(
    "An invalid `Location` fails the load with the response",
    arguments: [
      "file:///etc/passwd", "data:,a", "ftp://example.com/", "javascript:alert(1)", "http:b",
      "https://user@example.com/",
      "https://user:password@example.com/", "http:///b", "http://example.com:0/", "http://0x7f.1/", "/\\other.example",
      "http://exa_mple..com/", "\\\\other.example\\b", "",
    ])
  func refused(location: String) throws {
    mock.on(.any, .redirect(to: location))

    let load = api.load(anyRequest("/a?secret"))

    let error = try #require(load.outcomeIfCompleted?.error)
    expectEqual(error.code, .invalidRedirect)
    expectEqual(error.response?.status.code, 302)
    expectEqual(mock.requests.count, 1)
    #expect(
      error.message.hasPrefix("GET http://example.com/a?… was redirected with 302, but the Location field is "))
    #expect(!error.message.contains("password") && !error.message.contains("secret"))
  }

  @Test("Two different `Location` fields are refused, even if the platform joins them")
  func severalLocations() throws {
    mock.on("/two", .redirect(to: "/b", "/c"))
    mock.on("/joined", .redirect(to: "/b, /c"))
    mock.on("/same", .redirect(to: "/b", "/b"))
    mock.on("/b", .text("there"))

    let loads = ["/two", "/joined", "/same"].map { api.load(anyRequest($0)) }

    expectEqual(loads.map(\.text), ["invalidRedirect", "invalidRedirect", "success"])
    expectEqual(
      loads[0].outcomeIfCompleted?.error?.message.hasSuffix(
        "the response has 2 different Location fields. Fix the server."), true)
  }

  @Test("A redirect from https to http is refused, and one from http to https is followed")
  func downgrade() throws {
    mock.on(.any, .redirect(to: "http://example.com/b?secret"))
    let down = api.load(try HTTPRequest("https://example.com/a?secret"))
    mock.redirect(to: "https://example.com/b")
    let up = api.load(anyRequest())

    let error = try #require(down.outcomeIfCompleted?.error)
    expectEqual(error.code, .insecureRedirect)
    expectEqual(error.response?.status.code, 302)
    #expect(
      error.message
        == "GET https://example.com/a?… was redirected with 302 from https to http://example.com/b?…, which is not "
        + "encrypted. Load that URL directly if you accept this.")
    expectEqual(up.text, "success")
    expectEqual(mock.requests.count, 3)
  }

  @Test("A load beyond the limit fails with the last response and its redirects")
  func limit() throws {
    mock.onOthers(.redirect(301, to: "/a?secret"))

    let load = (Redirect(limit: 3) --> mock).load(anyRequest("/a?secret"))

    let error = try #require(load.outcomeIfCompleted?.error)
    expectEqual(error.code, .tooManyRedirects)
    expectEqual(mock.requests.count, 4)
    expectEqual(error.response?.status.code, 301)
    expectEqual(error.response?.redirections.count, 3)
    #expect(
      error.message
        == "GET http://example.com/a?… was redirected with 301 after the limit of 3 redirects. See "
        + "`response?.redirections`, or raise the limit.")
  }

  @Test(
    "The limit defaults to ten redirects, and a limit of zero or less allows none",
    arguments: [nil, 0, -7, .min])
  func limits(limit: Int?) {
    mock.onOthers(.redirect(to: "/a"))

    let load = (limit.map { Redirect(limit: $0) } ?? Redirect()).load(anyRequest(), next: mock)

    expectEqual(load.text, "tooManyRedirects")
    expectEqual(mock.requests.count, limit == nil ? 11 : 1)
  }

  @Test("A request sets its own limit, or turns redirects off")
  func options() {
    mock.onOthers(.redirect(to: "/a"))
    var (limited, off, last) = (anyRequest(), anyRequest(), anyRequest())
    limited.redirects = .limit(2)
    off.redirects = .off
    last.redirects = .limit(.max)

    expectEqual(api.load(limited).text, "tooManyRedirects")
    expectEqual(mock.requests.count, 3)
    expectEqual(api.load(off).outcomeIfCompleted?.value?.status.code, 302)
    expectEqual(mock.requests.count, 4)
    mock.answer()
    expectEqual(api.load(last).text, "success")
  }
}
