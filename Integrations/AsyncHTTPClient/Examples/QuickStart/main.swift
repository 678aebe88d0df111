import FutureTree
import FutureTreeAsyncHTTPClient
import FutureTreeHTTP
import FutureTreeHTTPTesting

struct User: Decodable, Sendable { let name: String }

let server = try LoopbackServer()  // A local server, so that this example runs offline.
server.on("/users/1", .json(#"{"name": "Ada"}"#))
server.on("/slow", .stall)

let transport = AsyncHTTPClientLoader()
let api = ApplyEnvironment(server.environment) --> ResetGuard() --> Autocancel() --> Retry() --> transport
let user = api.get("users/1", as: User.self)
let slow = api.get("slow")
_ = try await server.waitForRequest(to: "/slow").value
slow.cancel(reason: "The page was closed.")  // Closes its connection.
print(try await user.value.name)  // Ada
print(await slow.outcome.ending)  // cancelled
try await transport.shutdown().value  // Waits until all connections are closed.
