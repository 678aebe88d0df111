import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeHTTPTypes
import HTTPTypes

let server = MockLoader()
server.on("/users/1", .json(#"{"name": "Ada"}"#))
let api = ResetGuard() --> Autocancel() --> Retry() --> server

// A request of the ecosystem, such as a generated client makes it.
let head = HTTPTypes.HTTPRequest(
  method: .get, scheme: "https", authority: "example.com", path: "/users/1",
  headerFields: [.accept: "application/json", .authorization: "Bearer secret"])

let response = try await api.load(FutureTreeHTTP.HTTPRequest(head)).value
print(try HTTPTypes.HTTPResponse(response).status.code)  // 200

// And back: secrets are marked, so that no proxy indexes them.
let sent = try HTTPTypes.HTTPRequest(server.requests[0])
print(sent.headerFields[fields: .authorization].map { $0.indexingStrategy == .disallow })  // [true]
