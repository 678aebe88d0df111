import FutureTree
import FutureTreeHTTP
import FutureTreeTesting
import TestSupport

/// Minimal layers and a minimal transport for the tests.
extension CancellingALoadTests {
  struct Pass: HTTPLayer {
    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> { next.load(request).map { $0 } }
  }

  /// Holds requests until the test passes them on.
  final class Queue: HTTPLayer {
    private struct State {
      var lastID = 0
      var waiting: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Locked(State())

    var count: Int { state.withLock { $0.waiting.count } }

    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      let promise = Promise<HTTPResponse>()
      let id = state.withLock { state in
        state.lastID += 1
        state.waiting[state.lastID] = { promise.complete(.completeUsing(next.load(request))) }
        return state.lastID
      }
      promise.onRequestCancel { [weak self] _ in
        let removed = self?.state.withLock { $0.waiting.removeValue(forKey: id) }
        _ = removed  // Freed here, outside the lock.
        return .complete(.cancelled)
      }
      return promise.future
    }

    func passOn() {
      let waiting = state.withLock { state in
        defer { state.waiting = [:] }
        return state.waiting
      }
      for (_, passOn) in waiting.sorted(by: { $0.key < $1.key }) { passOn() }
    }
  }

  /// Waits a second before each request.
  struct Pause: HTTPLayer {
    let clock: ManualClock

    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      Future.after(.seconds(1), clock: clock).flatMap { next.load(request) }
    }
  }

  /// Loads a token before each request.
  struct SignIn: HTTPLayer {
    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      let token: HTTPRequest
      do { token = try HTTPRequest("http://example.com/token") } catch { return .failed(error) }
      return next.load(token).flatMap { _ in next.load(request) }
    }
  }

  final class Parse: HTTPLayer {
    let count = Locked(0)

    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      next.load(request).map { [count] response in
        count.withLock { $0 += 1 }
        return response
      }
    }
  }

  struct Retry: HTTPLayer {
    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      next.load(request).recoverWith { _ in next.load(request) }
    }
  }

  final class Recorder: Sendable {
    private let written = Locked<[String]>([])

    var lines: [String] { written.value }

    func append(_ line: String) { written.withLock { $0.append(line) } }
  }

  /// Holds a slot for each request, and frees it when the request has ended.
  struct Slot: HTTPLayer {
    let name: String
    let log: Recorder

    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      next.load(request).ensure { log.append("\(name) is free") }
    }
  }

  /// A transport that can be cancelled at once, and reports that to a closure.
  struct Wire: HTTPLoader {
    let onCancel: @Sendable () -> Void

    func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
      let promise = Promise<HTTPResponse>()
      promise.onRequestCancel { [onCancel, promise] _ in
        withExtendedLifetime(promise) { onCancel() }  // Only the handler retains the promise.
        return .complete(.cancelled)
      }
      return promise.future
    }

    func reset() -> Future<Void> { .succeeded }
  }
}
