import Foundation
import FutureTree
import FutureTreeHTTPTesting
import HTTPTestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Errors of bodies without JSON") struct UndecodableBodyTests {
  /// The message for a response with this content type.
  private func message(_ body: String, _ type: String?, status: HTTPStatus = .ok, sensitive: String = "X") throws
    -> String
  {
    var request = try HTTPRequest("https://example.com/user")
    request[option: SensitiveHeaders.self].insert(sensitive)
    let headers = try HTTPHeaders(type.map { [("Content-Type", $0)] } ?? [])
    let response = HTTPResponse(to: request, status: status, headers: headers, body: Data(body.utf8))
    let outcome = Future.succeeded(response).decoded(as: [String: String].self).outcomeIfCompleted
    guard case .failure(let error as HTTPError)? = outcome else { return "decoded" }
    return error.message
  }

  @Test("The error names the content type and the beginning of the page")
  func page() throws {
    let page = "<!DOCTYPE html>\n<html lang=\"en\"><head><title>502 Bad Gateway</title></head><body>\(sentinel)"

    let message = try message(page, "text/html; charset=utf-8", status: HTTPStatus(502))

    #expect(
      message == """
        The response to GET https://example.com/user cannot be decoded as Dictionary<String, String>: the body is not JSON at \
        byte 0. The content type is text/html, and the body begins with \
        `<!DOCTYPE html><html><head><title>502 Bad Gateway…`. Compare the body in `response` with the type.
        """)
  }

  @Test(
    "The content type is shown without its parameters",
    arguments: [
      ("Text/HTML;charset=utf-8", "The content type is text/html"),
      ("text/plain ; a=SECRET", "type is text/plain."),
      (nil, "The response has no content type."),
      ("no type SECRET", "The content type may contain secrets and is not shown."),
      ("text/SECRET\(String(repeating: "a", count: 60))", "The content type may contain secrets and is not shown."),
    ])
  func contentType(type: String?, text: String) throws {
    let message = try message("sentinel", type?.replacing("SECRET", with: sentinel))

    #expect(message.contains(text), "\(message)")
    #expect(!message.contains(sentinel))
  }

  @Test("A request can hide the content type")
  func sensitive() throws {
    let message = try message("x", "application/x-\(sentinel)", sensitive: "Content-Type")

    #expect(message.contains("The content type may contain secrets and is not shown.") && !message.contains(sentinel))
  }

  @Test(
    "The outline of a page has only element names and known words of its title",
    arguments: [
      ("<html><head><title>Sign in, SECRET</title>", "<html><head><title>Sign In …"),
      ("<title>Sign in</title><input value=SECRET>", "<title>Sign In…"),
      ("<title>SECRET</title>", "<title>…"), ("<title>200 4711 OK</title>", "<title>200 …"),
      ("<title SECRET>Log in</title>", "<title>Log In…"),
      ("<meta name=\"csrf-token\" content=\"SECRET\"><body>", "<meta><body>…"),
      ("<meta content='a>SECRET'><p>", "<meta>…<p>…"), ("<SECRET><html>", "…<html>…"),
      ("<html SECRET", "…"), ("<!-- SECRET --><html>", "…<html>…"),
      ("<!DOCTYPE SECRET><html>", "…<html>…"),
      ("<!doctype html SECRET><html>", "…<html>…"), ("<?xml version=\"SECRET\"?><rss>", "<?xml …?><rss>…"),
      ("<?SECRET ?>", "…"), ("\u{FEFF} \n<html>SECRET<p>", "<html>…<p>…"), ("</SECRET><p>", "<p>…"),
      ("<p><script>SECRET</script>", "<p><script>…"), ("<title><p>Error</title>", "<title>…"),
      ("<title>Error\u{202E}\n\u{7}</title>", "<title>…"), ("<", "…"), ("<>", "…"),
      (String(repeating: "<p>", count: 99), nil),
      ("<html>" + String(repeating: "SECRET", count: 1000), "<html>…"), ("SECRET<html>", nil), ("", nil),
    ] as [(String, String?)])
  func outline(body: String, expected: String?) {
    let body = body.replacing("SECRET", with: sentinel)  // Arguments are printed.

    let outline = MarkupOutline(of: Data(body.utf8), status: .ok)?.description

    if let expected { #expect(outline == expected) }
    #expect((outline ?? "").count < 60)
    #expect(outline?.contains(sentinel) != true)
  }

  @Test("The outline of random bytes has only constants")
  func random() {
    var random = Generator(state: 7)
    let pieces = [
      "<", ">", "title", "html", " ", "\"", "'", "/", "!", "!--", "-->", "?", "&", "\u{E9}", "\n", sentinel,
    ]
    for _ in 0..<2_000 {
      let body = "<" + (0..<20).map { _ in pieces.randomElement(using: &random)! }.joined()
      let outline = MarkupOutline(of: Data(body.utf8), status: .ok)?.description ?? ""
      let rest = outline.replacing("<title>", with: "").replacing("<html>", with: "").replacing("…", with: "")
        .replacing(" ", with: "")
      #expect(rest == "", "\(body)")
    }
  }

  private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state
    }
  }
}
