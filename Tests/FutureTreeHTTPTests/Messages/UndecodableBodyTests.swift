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
    request.sensitiveHeaders.insert(sensitive)
    let headers = try HTTPHeaders(type.map { ["Content-Type": $0] } ?? [])
    let response = HTTPResponse(to: request, status: status, headers: headers, body: Data(body.utf8))
    let outcome = Future.succeeded(response).decoded(as: [String: String].self).outcomeIfCompleted
    guard case .failure(let error as HTTPError)? = outcome else { return "decoded" }
    return error.message
  }

  @Test("The error names the content type, and says that the body is a page", arguments: ["", "\u{FEFF} \n"])
  func page(start: String) throws {
    let page = start + "<html lang=\"en\"><head><title>502 Bad Gateway</title></head><body>\(sentinel)"

    let message = try message(page, "text/html; charset=utf-8", status: HTTPStatus(502))

    #expect(
      message == """
        The response to GET https://example.com/user cannot be decoded as Dictionary<String, String>: the body is not JSON. \
        The content type is text/html, and the body is HTML or XML. Compare the body in `response` with the type.
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
}
