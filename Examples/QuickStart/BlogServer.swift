import FutureTree
import FutureTreeHTTPTesting

/// A blog server on loopback whose answers the example releases.
final class BlogServer: Sendable {
  private let server: LoopbackServer
  private let posts = LoopbackGate()
  private let comments = LoopbackGate()

  init() throws {
    server = try LoopbackServer()
    server.on("/users/1", .json(#"{"id": 1, "name": "Ada"}"#))
    server.on(
      "/users/1/posts",
      .json(#"[{"id": 1, "title": "Notes"}, {"id": 2, "title": "Engines"}, {"id": 3, "title": "Numbers"}]"#)
        .held(by: posts))
    for id in 1...3 {
      server.on("/posts/\(id)/comments", .json(#"[{"text": "first"}, {"text": "second"}]"#).held(by: comments))
    }
    server.on("/users/2", .stall)
  }

  var url: String { server.url("") }

  func answerPosts() { posts.open() }

  func answerComments() { comments.open() }

  func waitForRequest(to paths: String...) async {
    for path in paths { _ = await server.waitForRequest(to: path).outcome }
  }

  func waitForClose(of path: String) async {
    _ = await server.waitForClose(of: path).outcome
  }

  /// The paths for which the client closed the connection before the answer, as recorded by the server.
  var closedByClient: String { server.record.abandonedPaths.joined(separator: ", ") }
}
