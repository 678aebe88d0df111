import Dispatch
import FutureTree

/// One who waits for something in the record. Used on the server's queue.
final class ServerWait: @unchecked Sendable {  // Because: `timer` and `promise` are touched on the server's queue only.
  private let condition: @Sendable (LoopbackRecord) -> Bool
  private let place: String
  /// Nil when the wait is over.
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

  /// Completes on a queue of its own, which gets a thread even if all others block: the consumers may block too.
  private func finish(_ complete: @escaping @Sendable (Promise<LoopbackRecord>) -> Void) {
    guard let promise else { return }
    end()
    DispatchQueue(label: "FutureTreeHTTPTesting.LoopbackServer.wait").async { complete(promise) }
  }
}

/// Why a future of `LoopbackServer.waitUntil` failed, with what the server had seen.
public struct LoopbackWaitError: Error, CustomStringConvertible {
  enum Cause: Sendable {
    case stopped
    case timedOut(after: Duration)
  }

  let cause: Cause

  /// What the server had seen when the wait ended.
  public let record: LoopbackRecord

  let place: String

  /// Whether the time was over; otherwise the server was stopped.
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
