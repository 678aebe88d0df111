import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import TestSupport

/// Returns a request to an arbitrary host.
package func anyRequest(_ path: String = "/") -> HTTPRequest {
  try! HTTPRequest("http://example.com\(path)")  // The tests give valid paths.
}

/// Returns fields as a transport receives them: their values can have characters beyond ASCII.
package func received(_ fields: [(String, String)]) -> HTTPHeaders {
  HTTPHeaders(fields.map { try! HTTPHeaders.Field(received: $0, $1) })  // The tests give valid fields.
}

/// A layer that puts a host into requests that have only a path.
package var anyHost: ApplyEnvironment { ApplyEnvironment(try! ServerEnvironment(host: "example.com")) }

/// An end that answers each request, also one without a host, which a `MockLoader` refuses.
package struct AnsweringEnd: HTTPLoader {
  private let answer: @Sendable (HTTPRequest) -> HTTPResponse

  package init(_ answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse) { self.answer = answer }

  package func load(_ request: HTTPRequest) -> Future<HTTPResponse> { .succeeded(answer(request)) }

  package func reset() -> Future<Void> { .succeeded }
}

package struct Oops: Error, Hashable, CustomStringConvertible {
  package let name: String
  package var description: String { name }

  package init(name: String = "oops") { self.name = name }
}

/// A loader whose resets the test completes, and that logs its calls.
package final class HeldResets: HTTPLoader {
  package let log: Recorder
  package let name: String
  package let mock = MockLoader()
  private let promises = Locked<[Promise<Void>]>([])

  package init(_ log: Recorder = Recorder(), _ name: String = "end") {
    self.log = log
    self.name = name
  }

  package func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    log("\(name) loads")
    return mock.load(request)
  }

  package func reset() -> Future<Void> {
    log("\(name) resets")
    let promise = Promise<Void>()
    promises.withLock { $0.append(promise) }
    return promise.future
  }

  package var resetCount: Int { promises.withLock { $0.count } }

  package func endReset(_ index: Int = 0, _ outcome: Outcome<Void> = .success(())) {
    promises.withLock { $0[index] }.complete(with: outcome)
  }
}

/// A layer that logs its wipes, and optionally fails.
package struct Wiping: HTTPLayer {
  private let log: Recorder
  private let name: String
  private let error: Oops?

  package init(log: Recorder, name: String, error: Oops? = nil) {
    (self.log, self.name, self.error) = (log, name, error)
  }

  package func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> { next.load(request) }

  package func wipe(_ notes: ResetNotes) -> Future<Void> {
    log("\(name) wipes")
    return error.map { .failed($0) } ?? .succeeded
  }
}

extension Outcome {
  /// `success`, `cancelled`, the code of an `HTTPError`, or the error.
  package var text: String {
    switch self {
    case .success: "success"
    case .cancelled: "cancelled"
    case .failure(let error as HTTPError): "\(error.code)"
    case .failure(let error as ResetFailed): "resetFailed: " + error.errors.map { "\($0)" }.joined(separator: ", ")
    case .failure(let error): "\(error)"
    }
  }
}

extension Future {
  /// `pending`, or the outcome.
  package var text: String { outcomeIfCompleted?.text ?? "pending" }
}

extension Future<HTTPResponse> {
  /// The status, or the outcome.
  package var status: String {
    if case .success(let response) = outcomeIfCompleted { "\(response.status)" } else { text }
  }
}

extension RequestTrailers {
  /// Returns trailers that count the bytes, and announce another field.
  package static func counting() throws -> RequestTrailers {
    try RequestTrailers(["X-Count", "X-Sum"], from: 0) { count, bytes in
      count += bytes.count
    } fields: { count in
      ["X-Count": "\(count)"]
    }
  }
}
