import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeTesting
import TestSupport
import Testing

/// The code of the README, word for word. `HTTPGuideTests` compares the two.
@Suite("Guide: README", .onSockets)
struct READMEGuideSnippets {
  private struct Post: Decodable {
    let id: Int
    let title: String
  }

  @Test("of two who want the posts, one leaves")
  func branches() async throws {
    let (server, gate) = (try Loopback.server(), LoopbackGate())
    @Sendable func request(_ path: String) throws -> HTTPRequest { try HTTPRequest(server.url(path)) }
    server.on("/posts", .json(#"[{"id": 1, "title": "Trees"}]"#).held(by: gate))

    // guide branches
    let api = ResetGuard() --> Autocancel() --> Retry() --> Throttle(4) --> Redirect() --> URLSessionLoader()

    let posts = api.load(try request("/posts")).validated().decoded(as: [Post].self).shared()
    let titles = posts.map { posts in posts.map { $0.title } }
    let comments = posts.onSuccess { posts in api.load(try request("/posts/\(posts[0].id)/comments")) }

    comments.cancel(reason: "the reader scrolled past it")  // `titles` goes on.
    // end
    gate.open()

    #expect(try await titles.value == ["Trees"])
    #expect(await comments.outcome.ending == .cancelled)
    #expect(server.requests.map(\.target) == ["/posts"])
  }
}

#if READMEMANIFEST  // `.ci/run` compiles it, with the library for manifests.
  // guide manifest
  let dependencies: [Package.Dependency] = [.package(name: "FutureTree", path: "../FutureTree")]
  let app = Target.target(name: "App", dependencies: [.product(name: "FutureTreeHTTP", package: "FutureTree")])
// end
#endif
