import Foundation

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

/// A stored cookie is one of the host that set it, is sent to no other host, and is read again from what is sent.
func fuzzCookies(_ bytes: [UInt8]) throws {
  var input = Input(bytes)
  let urls = try [
    "https://example.com/", "http://www.example.com/a/b", "https://other.org/a", "https://10.0.0.1/",
    "http://localhost/",
  ].map { try HTTPURL($0) }
  let now = Date(timeIntervalSince1970: 1_800_000_000)
  let jar = CookieJar(limits: .init(perDomain: 3, total: 5), date: WallClock { now })
  for _ in 0..<8 {
    let url = urls[Int(input.byte()) % urls.count]
    let text = input.text()
    let before = jar.cookies
    let isStored = jar.store(text, from: url)
    check(isStored || jar.cookies == before, "A refused cookie changed others: \(text)")
    check(
      jar.cookies.allSatisfy { before.contains($0) || isSet($0, by: url) }, "Another host's cookie was set: \(text)")
    check(jar.cookies.count <= 5, "There are too many cookies.")
  }
  for url in urls {
    for cookie in jar.cookies(for: url) {
      check(isSet(cookie, by: url), "The cookie is sent to another host: \(cookie)")
      check(!cookie.isSecure || url.scheme == .https || url.host == "localhost", "A secure cookie is sent over http.")
      check(cookie.expires.map { $0 > now && $0 <= now + 400 * 86_400 } ?? true, "The expiry is \(cookie).")
      try checkWritten(cookie)
    }
  }
}

private func isSet(_ cookie: CookieJar.Cookie, by url: HTTPURL) -> Bool {
  guard cookie.domain != url.host else { return true }
  return !cookie.isHostOnly && url.host.hasSuffix("." + cookie.domain) && cookie.domain.contains(".")
    && url.host.contains { $0.isLetter }
}

/// A server that splits the field at `; ` finds the name and the value. A value without a name can look like both.
/// Bytes are compared: as a character, the Greek question mark equals a semicolon, and an equals sign with a combining mark does not
/// equal one.
private func checkWritten(_ cookie: CookieJar.Cookie) throws {
  guard !cookie.name.isEmpty || !cookie.value.utf8.contains(UInt8(ascii: "=")) else { return }
  let pair = cookie.name.isEmpty ? cookie.value : "\(cookie.name)=\(cookie.value)"
  var request = try HTTPRequest("http://a/")
  try request.setHeader("Cookie", received: pair)
  check(!pair.utf8.contains(UInt8(ascii: ";")), "A cookie contains a separator: \(pair)")
  let jar = CookieJar()
  let isSecure = cookie.isSecure ? "; Secure" : ""
  check(jar.store(pair + isSecure + "; Path=/", from: try HTTPURL("https://a/")), "It is not read again: \(pair)")
  check(jar.cookies.map { Array($0.value.utf8) } == [Array(cookie.value.utf8)], "It is read as another: \(pair)")
  check(jar.cookies.map { Array($0.name.utf8) } == [Array(cookie.name.utf8)], "It is read with another name: \(pair)")
}
