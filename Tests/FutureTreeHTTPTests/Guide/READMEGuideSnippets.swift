import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import TestSupport
import Testing

/// The code of the README, word for word. `HTTPGuideTests` compares the two.
@Suite("Guide: README", .onSockets)
struct READMEGuideSnippets {
  private struct Post: Decodable {
    let id: Int
    let title: String
  }

  private struct Comment: Decodable { let text: String }

  @Test("of two who want the posts, one leaves")
  func branches() async throws {
    let (peer, gate) = (try Loopback.server(), LoopbackGate())
    let server = try ServerEnvironment(scheme: .http, host: "127.0.0.1", port: HTTPURL(peer.url("/")).port)
    peer.on("/posts", .json(#"[{"id": 1, "title": "Trees"}]"#).held(by: gate))

    // guide branches
    let api = ResetGuard() --> Autocancel() --> ApplyEnvironment(server) --> Retry() --> URLSessionLoader()

    let posts = api.get("posts", as: [Post].self).shared()
    let titles = posts.map { posts in posts.map { $0.title } }
    let comments = posts.onSuccess { posts in api.get("posts/\(posts[0].id)/comments", as: [Comment].self) }

    comments.cancel(reason: "the reader scrolled past it")  // `titles` goes on.
    // end
    gate.open()

    #expect(try await titles.value == ["Trees"])
    #expect(await comments.outcome.ending == .cancelled)
    #expect(peer.requests.map(\.target) == ["/posts"])
  }
}

#if READMEMANIFEST  // `.ci/run` compiles it, with the library for manifests.
  // guide manifest
  let dependencies: [Package.Dependency] = [.package(name: "FutureTree", path: "../FutureTree")]
  let app = Target.target(name: "App", dependencies: [.product(name: "FutureTreeHTTP", package: "FutureTree")])
// end
#endif
