import Foundation
import FutureTree
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import FutureTreeOAuth2
import FutureTreeRecording
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

/// A layer, and the names of the futures of a load through it, from the caller to the mock, which is left out.
private struct NamedLayer: Sendable, CustomTestStringConvertible {
  let layer: any HTTPLayer
  let names: [String]

  init(_ layer: any HTTPLayer, _ names: String...) {
    self.layer = layer
    self.names = names
  }

  var testDescription: String { "\(type(of: layer))" }

  /// New layers at each access: tests do not share them.
  static var all: [NamedLayer] {
    [
      NamedLayer(ResetGuard(), "ResetGuard"),
      NamedLayer(Autocancel(), "Autocancel", "tracked load"),
      NamedLayer(Coalesce(), "Coalesce", "shared load"),
      NamedLayer(Retry(), "Retry"),
      NamedLayer(Throttle(1), "Throttle"),
      NamedLayer(Timeout(attempt: .seconds(1), clock: ManualClock()), "Timeout"),
      NamedLayer(Redirect(), "Redirect"),
      NamedLayer(StoreCookies(in: CookieJar()), "StoreCookies"),
      NamedLayer(CacheResponses(in: HTTPCache()), "CacheResponses", "shared load", "stored load"),
      NamedLayer(ModifyRequest.deferred { .succeeded($0) }, "ModifyRequest"),
      NamedLayer(BasicAuth { .succeeded(nil) }, "BasicAuth"),
      NamedLayer(BearerAuth { .succeeded(nil) }, "BearerAuth"),
      NamedLayer(RefreshOnUnauthorized { _ in Promise<BearerToken>().future }, "RefreshOnUnauthorized"),
      NamedLayer(oauth2, "OAuth2", "attempt"),
    ]
  }

  /// Layers without a future of their own: a load has the future of the next loader. `Resume` has one for a stream, `ResumeUploads` for a body,
  /// `CircuitBreaker` for a probe, and `Hedge` once it has measured enough responses.
  static let transparent = [
    NamedLayer(Log { _ in }), NamedLayer(RequestMetrics { _ in }), NamedLayer(ApplyEnvironment(nil)),
    NamedLayer(Route()), NamedLayer(Resume()), NamedLayer(ResumeUploads(.tus)), NamedLayer(ModifyRequest { _ in }),
    NamedLayer(BearerAuth(try! BearerToken("token"))),
    NamedLayer(Timeout()), NamedLayer(CircuitBreaker()), NamedLayer(Hedge()),
    NamedLayer(HTTPRecorder()), NamedLayer(JSONCoders()), NamedLayer(CompressBodies()),
  ]

  private static var oauth2: OAuth2 {
    let tokens = MockLoader()
    tokens.onOthers(.json(#"{"access_token": "a", "token_type": "Bearer", "expires_in": 3600}"#))
    let configuration = OAuth2Configuration(
      client: .confidential(id: "app", secret: "secret"), tokenEndpoint: try! HTTPURL("https://id.example.com/token"),
      grant: .clientCredentials)
    return OAuth2(configuration, tokens: tokens)
  }
}

@Suite("Layers: names in the tree") struct LayerNamesTests {
  @Test(
    "A load shows the name of its layer once, and no name of an operator",
    arguments: NamedLayer.all + NamedLayer.transparent)
  fileprivate func names(_ layer: NamedLayer) throws {
    let mock = MockLoader()
    let held = mock.hold()
    let load = (layer.layer --> mock).load(try HTTPRequest("https://example.com/"))

    let names = path(of: load)
    held.answer()

    #expect(names == layer.names + ["GET https://example.com/"])
  }

  @Test("Every public layer is in one of the two lists")
  func complete() throws {
    var layers: Set<String> = []
    for module in ["FutureTreeHTTP", "FutureTreeHTTPStore", "FutureTreeOAuth2", "FutureTreeRecording"] {
      let folder = URL(filePath: #filePath).appending(path: "../../../../Sources/\(module)").standardized
      let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
      for case let file as URL in files where file.pathExtension == "swift" {
        let declarations = try String(contentsOf: file, encoding: .utf8).matches(
          of: /public .*(?:class|struct) (\w+): HTTPLayer/)
        layers.formUnion(declarations.map { String($0.1) })
      }
    }

    expectEqual(layers, Set((NamedLayer.all + NamedLayer.transparent).map(\.testDescription)))
  }

  @Test("The tree of a chain shows the layers in their order")
  func chain() throws {
    let mock = MockLoader()
    let held = mock.hold()
    let layers = NamedLayer.all
    let api = layers.reversed().reduce(mock as any HTTPLoader) { next, named in named.layer --> next }
    let load = api.load(try HTTPRequest("https://example.com/"))

    let names = path(of: load)
    held.answer()

    #expect(names == layers.flatMap(\.names) + ["GET https://example.com/"])
  }

  @Test("A load that a layer refuses has the name of the layer")
  func refused() throws {
    let request = try HTTPRequest("http://example.com/")
    let basic = BasicAuth(try BasicCredentials(userName: "user", password: "password"))
    let gate = ResetGuard()
    let held = HeldResets()
    (gate --> held).reset()

    let loads = [
      basic.load(request, next: held), gate.load(request, next: held),
      Throttle(0, queueLimit: 0).load(request, next: held),
      Timeout(attempt: .zero).load(request, next: held),
    ]
    held.endReset()

    expectEqual(loads.map { path(of: $0) }, [["BasicAuth"], ["ResetGuard"], ["Throttle"], ["Timeout"]])
  }

  /// The names of a future and of its upstreams.
  private func path(of future: Future<HTTPResponse>) -> [String] {
    let entries = future.tree().entries
    var (names, entry) = ([String](), entries.first)
    while let current = entry {
      names.append(current.name)
      entry = current.upstream.first.map { entries[$0] }
    }
    return names
  }
}
