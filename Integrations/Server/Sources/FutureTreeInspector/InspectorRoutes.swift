import Foundation
import FutureTree
import FutureTreePictures
import HTTPTypes
import Hummingbird
import NIOCore

/// The routes of an inspector. All are below its token.
struct InspectorRoutes: Sendable {
  let inspector: Inspector
  let port: @Sendable () -> Int

  func router() -> Router<BasicRequestContext> {
    let router = Router()
    router.add(middleware: InspectorGuard(token: inspector.token, port: port))
    let routes = router.group(":token")
    routes.get { _, _ in page() }
    routes.get("events") { _, _ in events() }
    routes.get("futures/:number/preview") { request, context in
      try receipt(request, context) { inspector.forest.previewCancel($0, $1) }
    }
    routes.get("futures/:number/tree") { _, context in
      guard let tree = inspector.forest.tree(of: try context.parameters.require("number", as: Int.self)) else {
        throw HTTPError(.notFound, message: "The future is not pending.")
      }
      return document(tree.html(title: tree.entries[0].name))
    }
    routes.post("futures/:number/cancel") { request, context in
      guard inspector.allowsCancellation else {
        throw HTTPError(.forbidden, message: "The inspector was created without `allowsCancellation`.")
      }
      let reason = request.uri.queryParameters.get("reason").flatMap { $0.isEmpty ? nil : $0 }
      return try receipt(request, context) { number, options in
        inspector.forest.cancel(
          number, options,
          reason: CancellationReason(reason ?? "cancelled in the inspector", fileID: "Inspector", line: 0))
      }
    }
    return router
  }

  private func page() -> Response {
    let nonce = String(UInt64.random(in: .min ... .max), radix: 36)
    var response = document(InspectorPage.html(nonce: nonce, allowsCancellation: inspector.allowsCancellation))
    response.headers[.contentSecurityPolicy] =
      "default-src 'none'; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; connect-src 'self'; base-uri 'none'; "
      + "form-action 'none'; frame-ancestors 'none'"
    return response
  }

  private func document(_ html: String) -> Response {
    Response(
      status: .ok, headers: [.contentType: "text/html; charset=utf-8"],
      body: .init(byteBuffer: ByteBuffer(string: html)))
  }

  private func receipt(
    _ request: Request, _ context: BasicRequestContext, _ body: (Int, CancellationOptions) -> CancelReceipt?
  ) throws -> Response {
    let number = try context.parameters.require("number", as: Int.self)
    let options: CancellationOptions
    switch request.uri.queryParameters.get("options") ?? "" {
    case "": options = []
    case "doNotForwardIfOthersWaiting": options = .doNotForwardIfOthersWaiting
    case "doNotForwardRequest": options = .doNotForwardRequest
    case "forceImmediately": options = .forceImmediately
    default: throw HTTPError(.badRequest, message: "The options are not known.")
    }
    // A future can end after the page has shown it. That is no error, and a browser would report a status of 404.
    let text = body(number, options).map { "\($0)" } ?? "not pending"
    return Response(
      status: .ok, headers: [.contentType: "text/plain; charset=utf-8"],
      body: .init(byteBuffer: ByteBuffer(string: text)))
  }

  /// Server-sent events: an update at each interval.
  private func events() -> Response {
    Response(
      status: .ok, headers: [.contentType: "text/event-stream"],
      body: ResponseBody { [inspector] writer in
        _ = inspector.openPages(adding: 1)
        defer { _ = inspector.openPages(adding: -1) }
        var frames = InspectorFrames()
        while !Task.isCancelled {
          let start = ContinuousClock.now
          let time = SystemClock().now
          let frame = frames.next(inspector.forest.snapshot(), inspector.throttles, now: time)
          try await writer.write(ByteBuffer(string: "data: \(frame)\n\n"))
          // All pages together take at most 4% of the time of one thread, and some more to send the bytes.
          let pause = (ContinuousClock.now - start) * 25 * inspector.openPages(adding: 0)
          try await Task.sleep(for: max(inspector.interval, pause))
        }
        try await writer.finish(nil)
      })
  }
}

/// Refuses requests without the token, for another host, and of other origins.
struct InspectorGuard: RouterMiddleware {
  typealias Context = BasicRequestContext

  let token: String
  let port: @Sendable () -> Int

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let port = port()
    let hosts = ["127.0.0.1:\(port)", "localhost:\(port)"]
    // A page of another name that resolves to 127.0.0.1 has another host.
    guard let host = request.head.authority, hosts.contains(host) else { throw HTTPError(.misdirectedRequest) }
    let path = request.uri.path.split(separator: "/", omittingEmptySubsequences: true).first ?? ""
    guard isToken(path) else { throw HTTPError(.notFound) }
    let origin = request.headers[.origin]
    guard origin == nil || origin == "http://\(host)" else { throw HTTPError(.forbidden) }
    let site = HTTPField.Name("Sec-Fetch-Site").flatMap { request.headers[$0] }
    guard [nil, "same-origin", "none"].contains(site) else { throw HTTPError(.forbidden) }
    if request.method == .post, origin == nil { throw HTTPError(.forbidden) }
    var response = try await next(request, context)
    response.headers[.cacheControl] = "no-store"
    response.headers[.xContentTypeOptions] = "nosniff"
    for (name, value) in [
      ("Referrer-Policy", "no-referrer"), ("X-Frame-Options", "DENY"), ("Cross-Origin-Resource-Policy", "same-origin"),
    ] {
      if let name = HTTPField.Name(name) { response.headers[name] = value }
    }
    return response
  }

  /// Compares in a time that does not depend on the place of the first difference.
  private func isToken(_ text: Substring) -> Bool {
    let (given, expected) = (Array(text.utf8), Array(token.utf8))
    guard given.count == expected.count else { return false }
    return zip(given, expected).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
