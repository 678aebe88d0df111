import FutureTree
import FutureTreeHTTP
import Testing

/// The code of the article *Beside other libraries*, word for word. `HTTPGuideTests` compares the two.
@Suite("Guide: Beside other libraries") struct BesideOtherLibrariesGuideSnippets {
  /// Types of another library, and of an app.
  enum Other {
    struct HTTPRequest {}
    struct Log {}
  }

  enum App {
    // guide names
    typealias HTTPRequest = FutureTreeHTTP.HTTPRequest
    typealias HTTPResponse = FutureTreeHTTP.HTTPResponse
    // end

    struct Log {}

    static func load(_ request: HTTPRequest, with loader: any HTTPLoader) -> Future<HTTPResponse> {
      (FutureTreeHTTP.Log() --> loader).load(request)
    }
  }

  @Test("A name that an app declares means its own type")
  func names() {
    #expect(App.HTTPRequest.self == FutureTreeHTTP.HTTPRequest.self && App.Log.self != FutureTreeHTTP.Log.self)
    #expect(Other.HTTPRequest.self != App.HTTPRequest.self)
  }
}
