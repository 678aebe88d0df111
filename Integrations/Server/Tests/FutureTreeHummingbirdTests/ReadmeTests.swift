import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeHummingbird
import Hummingbird
import ServerTestSupport
import Testing

@Suite("The README") struct ReadmeTests {
  @Test("The example of the README compiles")
  func example() throws {
    let transport = MockLoader()
    // Begin
    let backend = Retry() --> ModifyRequest.sendingDeadline() --> transport

    let router = Router(context: BasicFutureRequestContext.self)
    router.future(.get, "users/:id") { request, context in
      let id = try context.parameters.require("id", as: Int.self)
      let api = context.outgoing --> backend  // With the deadline and the trace of the incoming request.
      return api.load(try FutureTreeHTTP.HTTPRequest("http://users.internal/\(id)"))
    }

    let app = Application(
      router: router,
      server: .http1(configuration: .init(additionalChannelHandlers: [ClientDisconnectHandler()])))
    // End
    _ = app

    #expect(try readmeHasExample(of: #filePath))
  }
}
