import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeHummingbird
import Hummingbird
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

    let source = try String(contentsOfFile: #filePath, encoding: .utf8)
    let readme = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../README.md").standardized
    let compiled = try #require(source.components(separatedBy: "    // Begin\n").dropFirst().first)
      .components(separatedBy: "    // End\n")[0]
      .split(separator: "\n", omittingEmptySubsequences: false).map { $0.dropFirst(4) }.joined(separator: "\n")
    #expect(try String(contentsOf: readme, encoding: .utf8).contains("```swift\n\(compiled)```"))
  }
}
