import Foundation
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

@Suite("Cookies: the field Set-Cookie (RFC 6265bis, section 5.6)") struct SetCookieTests {
  @Test(
    "Name and value are separated at the first `=`, without surrounding blanks",
    arguments: [
      ("a=b", "a", "b"), ("a=", "a", ""), ("=b", "", "b"), ("b", "", "b"), (" a \t=\t b c ", "a", "b c"),
      ("a=b=c", "a", "b=c"), ("a=\"b\"", "a", "\"b\""), ("a=b; Path=/", "a", "b"), ("a=b;", "a", "b"),
      ("==b", "", "=b"), ("a b=c", "a b", "c"), ("a=b\tc", "a", "b\tc"),
      ("é=€", "é", "€"), ("a=\u{301}b", "a", "\u{301}b"),
    ])
  func pair(text: String, name: String, value: String) throws {
    let cookie = try #require(SetCookie(text))

    expectEqual(cookie.name, name)
    expectEqual(cookie.value, value)
  }

  @Test(
    "Empty cookies, and those with a control character, are ignored",
    arguments: [
      "", " ", "=", " = ", ";", "; Path=/", "=;a=b", "a=\0", "a=\u{1F}", "a=b\u{7F}", "a=b\nc", "é=é\u{1}",
      "a=b; x=\u{1}",
    ])
  func ignored(text: String) {
    #expect(SetCookie(text) == nil)
  }

  @Test("A name and a value with more than 4096 bytes together are ignored")
  func size() {
    #expect(SetCookie("name=" + String(repeating: "v", count: 4092)) != nil)
    #expect(SetCookie("name=" + String(repeating: "v", count: 4093)) == nil)
    #expect(SetCookie(String(repeating: "n", count: 4096) + "=") != nil)
  }

  @Test("An attribute whose value has more than 1024 bytes is ignored")
  func attributeSize() throws {
    let path = "/" + String(repeating: "p", count: 1023)
    expectEqual(SetCookie("a=b; Path=\(path)")?.path, path)
    expectEqual(SetCookie("a=b; Path=/x; Path=\(path)p")?.path, "/x")
  }

  @Test("`Expires` has a date, and other values are ignored (section 5.6.1)")
  func expires() {
    let date = Date(timeIntervalSince1970: 784_111_777)
    expectEqual(SetCookie("a=b; expires = Sun, 06 Nov 1994 08:49:37 GMT")?.expires, date)
    #expect(SetCookie("a=b; Expires=soon")?.expires == nil)
    expectEqual(SetCookie("a=b; Expires=6 Nov 1994 08:49:37; EXPIRES=soon")?.expires, date)
  }

  @Test(
    "`Max-Age` has digits and an optional minus (section 5.6.2)",
    arguments: [
      ("0", 0), ("60", 60), ("-1", 0), ("-", nil), ("99999999999999999999", .max), ("-99999999999999999999", 0),
      ("", nil), ("+1", nil), ("1.5", nil), ("1 2", nil), ("--1", nil), ("١", nil),
    ] as [(String, Int?)])
  func maxAge(text: String, seconds: Int?) {
    expectEqual(SetCookie("a=b; max-age=\(text)")?.maxAge, seconds)
  }

  @Test(
    "`Domain` is in lower case and without its first period. The last one applies (section 5.6.3)",
    arguments: [
      ("", ""), ("; Domain", ""), ("; Domain=", ""), ("; domain=Example.COM", "example.com"),
      ("; Domain=.example.com", "example.com"), ("; Domain=..a", ".a"), ("; Domain=a; Domain=b", "b"),
      ("; Domain=a; Domain=", ""),
    ])
  func domain(text: String, domain: String) {
    expectEqual(SetCookie("a=b" + text)?.domain, domain)
  }

  @Test(
    "`Path` begins with a slash. Otherwise the path is that of the request (section 5.6.4)",
    arguments: [
      ("", nil), ("; Path", nil), ("; Path=a", nil), ("; path=/A b", "/A b"), ("; Path=/a; Path=b", nil),
      ("; Path=\"/a\"", nil),
    ] as [(String, String?)])
  func path(text: String, path: String?) {
    expectEqual(SetCookie("a=b" + text)?.path, path)
  }

  @Test("`Secure` and `HttpOnly` apply with any value (sections 5.6.5 and 5.6.6)")
  func flags() throws {
    let cookie = try #require(SetCookie("a=b; SECURE=no; httponly=0"))

    #expect(cookie.isSecure && cookie.isHTTPOnly)
    expectEqual(SetCookie("a=b; Securely; Http Only").map { !$0.isSecure && !$0.isHTTPOnly }, true)
  }

  @Test(
    "`SameSite` has three values. Others count as missing (section 5.6.7)",
    arguments: [
      ("None", .none), ("lax", .lax), ("STRICT", .strict), ("", .unspecified), ("x", .unspecified),
    ] as [(String, CookieJar.SameSite)])
  func sameSite(text: String, sameSite: CookieJar.SameSite) {
    expectEqual(SetCookie("a=b; SameSite=\(text)")?.sameSite, sameSite)
  }
}
