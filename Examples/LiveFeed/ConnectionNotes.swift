import FutureTree
import FutureTreeHTTP

/// A layer that writes a line for each connection of the feed.
struct ConnectionNotes: HTTPLayer {
  let screen: Screen

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    screen.line(
      request.headers["Last-Event-ID"].map { "the client connects again, after event \($0)" } ?? "the client connects")
    return next.load(request)
  }
}
