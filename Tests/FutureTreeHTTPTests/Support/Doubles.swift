import FutureTree
import FutureTreeHTTP
import FutureTreeTesting
import TestSupport

/// A request to no host in particular.
func anyRequest(_ path: String = "/") -> HTTPRequest {
  try! HTTPRequest("http://example.com\(path)")  // The tests give valid paths.
}

struct Oops: Error, Hashable, CustomStringConvertible {
  var name = "oops"
  var description: String { name }
}

/// The end of a chain whose resets the test completes, and that writes what comes to it.
final class HeldResets: HTTPLoader {
  let log: Recorder
  let name: String
  let mock = MockLoader()
  private let promises = Locked<[Promise<Void>]>([])

  init(_ log: Recorder = Recorder(), _ name: String = "end") {
    self.log = log
    self.name = name
  }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    log("\(name) loads")
    return mock.load(request)
  }

  func reset() -> Future<Void> {
    log("\(name) resets")
    let promise = Promise<Void>()
    promises.withLock { $0.append(promise) }
    return promise.future
  }

  var resetCount: Int { promises.withLock { $0.count } }

  func endReset(_ index: Int = 0, _ outcome: Outcome<Void> = .success(())) {
    promises.withLock { $0[index] }.complete(with: outcome)
  }
}

/// A layer that writes when it is reset, before and after what comes behind it, and fails if it is told to.
struct Wiping: HTTPLayer {
  let log: Recorder
  let name: String
  var error: Oops?

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> { next.load(request) }

  func reset(next: any HTTPLoader) -> Future<Void> {
    log("\(name) wipes")
    return .resets([error.map { .failed($0) } ?? .succeeded(()), next.reset()])
  }
}

extension Outcome {
  /// `success`, `cancelled`, the code of an `HTTPError`, or the error.
  var text: String {
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
  /// `pending`, or how it ended.
  var text: String { outcomeIfCompleted?.text ?? "pending" }
}

extension Future<HTTPResponse> {
  /// The status, or how it ended.
  var status: String {
    if case .success(let response) = outcomeIfCompleted { "\(response.status)" } else { text }
  }
}
