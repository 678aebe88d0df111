import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting

extension TransportConformance.Check {
  static let secrecy: [Self] = [printedErrors, printedTransport]

  /// Failures of several kinds, of requests with a secret in the query, in a field, in the body, and in the path of a file.
  public static let printedErrors = Self("printedErrors", .secrets, "No printed error shows a secret") { run in
    let down = try RefusingPort()
    defer { withExtendedLifetime(down) {} }
    run.server.on("/cut", [.send(Framing.length.half), .close])
    run.server.on("/malformed", [.send("\(Framing.closing)Content-Length: \(Secret.value)\r\n\r\nok"), .close])
    run.server.on("/stall", .stall)
    run.server.on("/large", .respond(body: "0123456789A"))

    for url in ["/cut", "/malformed", "/close", "/stall", "/large"].map({ run.server.url($0) }) + [down.url()] {
      var request = try Secret.request(url)
      request.timeout = .milliseconds(url.hasSuffix("/stall") ? 50 : 60_000)
      request.delivery = .buffered(maximumSize: 10)
      run.server.on("/close", .close)
      let load = run.loader.load(request)
      let outcome = await load.outcome
      run.expect(outcome.ending == .failed, "\(url) did not fail: \(CheckRun.text(outcome))")
      if case .failure(let error) = outcome { run.expectNoSecret(in: error, "the error of \(url)") }
      run.expectNoSecret(in: load.tree().text(), "the tree of \(url)")
    }
    var request = try Secret.request(run.server.url("/"))
    request.body = .file(URL(fileURLWithPath: "/\(Secret.value)/missing"))
    if case .failure(let error) = await run.loader.load(request).outcome {
      run.expectNoSecret(in: error, "the error of a missing file")
    }
  }

  /// The transport, its load and its response are printed while a request with secrets is in flight and afterward.
  public static let printedTransport = Self(
    "printedTransport", .secrets, "No description of a transport, of a load or of a response shows a secret"
  ) { run in
    let gate = LoopbackGate()
    run.server.on("/", .respond(headers: [("Set-Cookie", Secret.value)], body: Secret.value).held(by: gate))
    let load = run.loader.load(try Secret.request(run.server.url("/")))
    _ = try await gate.waitForHolders().value
    run.expectNoSecret(in: run.loader, "the transport during a load")
    run.expectNoSecret(in: load, "the load")

    gate.open()
    let outcome = await load.outcome

    run.expect(outcome.ending == .succeeded, "the load did not succeed: \(CheckRun.text(outcome))")
    run.expectNoSecret(in: outcome, "the response")
    run.expectNoSecret(in: run.loader, "the transport after a load")
  }
}

private enum Secret {
  static let value = "FUTURETREEconformanceSECRET"

  static func request(_ url: String) throws -> HTTPRequest {
    var request = try HTTPRequest(.put, url + "?key=\(value)")
    try request.addHeader("Authorization", "Bearer \(value)")
    try request.addHeader("X-Session", value)
    request.body = .data(Data(value.utf8))
    return request
  }

  /// The text of a value as a log prints it.
  static func printed(_ value: Any) -> String {
    var text = "\(value)\n" + String(reflecting: value) + "\n"
    dump(value, to: &text, maxDepth: 12, maxItems: 10_000)
    if let error = value as? any Error { text += error.localizedDescription + "\n\(error as NSError)\n" }
    return text
  }
}

extension CheckRun {
  fileprivate func expectNoSecret(in value: Any, _ name: String) {
    expect(!Secret.printed(value).contains(Secret.value), "\(name) shows a secret when it is printed")
  }
}
