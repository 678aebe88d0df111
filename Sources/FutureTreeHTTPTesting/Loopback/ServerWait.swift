import Dispatch
import FutureTree

/// A wait for a condition on the record. Used only on the server's queue.
final class ServerWait: @unchecked Sendable {  // Because: `timer` and `promise` are used only on the server's queue.
  private let condition: @Sendable (LoopbackRecord) -> Bool
  private let place: String
  /// `nil` once the wait has ended.
  private var promise: Promise<LoopbackRecord>?
  private var timer: (any DispatchSourceTimer)?

  init(_ promise: Promise<LoopbackRecord>, place: String, condition: @escaping @Sendable (LoopbackRecord) -> Bool) {
    self.promise = promise
    self.place = place
    self.condition = condition
  }

  /// Completes the promise if the condition holds.
  func isFulfilled(by record: LoopbackRecord) -> Bool {
    guard promise != nil else { return true }
    guard condition(record) else { return false }
    finish { $0.succeed(record) }
    return true
  }

  func fail(_ cause: LoopbackWaitError.Cause, record: LoopbackRecord) {
    let error = LoopbackWaitError(cause: cause, record: record, place: place)
    finish { $0.fail(error) }
  }

  func startTimer(_ limit: Duration, on queue: DispatchQueue, _ elapsed: @escaping @Sendable () -> Void) {
    let source = DispatchSource.makeTimerSource(queue: queue)
    source.schedule(deadline: .now() + limit.dispatchInterval)
    source.setEventHandler { elapsed() }
    timer = source
    source.activate()
  }

  func end() {
    timer?.cancel()
    timer = nil
    promise = nil
  }

  /// Completes the promise on a separate queue, which gets a thread even if all others block: consumers may block too.
  private func finish(_ complete: @escaping @Sendable (Promise<LoopbackRecord>) -> Void) {
    guard let promise else { return }
    end()
    DispatchQueue(label: "FutureTreeHTTPTesting.LoopbackServer.wait").async { complete(promise) }
  }
}

/// The error of a wait such as `LoopbackServer.waitUntil`: its time limit passed, or the server stopped. It carries the record.
public struct LoopbackWaitError: Error, CustomStringConvertible {
  enum Cause: Sendable {
    case stopped
    case timedOut(after: Duration)
  }

  let cause: Cause

  /// The record at the end of the wait.
  public let record: LoopbackRecord

  let place: String

  /// Whether the time limit passed. If not, the server was stopped.
  public var isTimeout: Bool {
    if case .timedOut = cause { true } else { false }
  }

  public var description: String {
    let ending =
      switch cause {
      case .stopped: "the server stopped before the event"
      case .timedOut(let limit): "the event did not occur within \(limit.rounded)"
      }
    let seen = record.connections.isEmpty ? "The server accepted no connection." : "The server received:\n\(record)"
    return "Waiting for a LoopbackServer at \(place): \(ending). \(seen)"
  }
}
