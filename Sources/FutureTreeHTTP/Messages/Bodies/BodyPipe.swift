import Foundation
import FutureTree

/// The connection between the transport that writes a body and its reader. The decisions are those of `StreamState`.
final class BodyPipe: Sendable {
  private struct Guarded {
    var state: StreamState
    /// The reader that waits for bytes.
    var waiting: UnsafeContinuation<Result<Data?, any Error>, Never>?
    /// Whether the task that reads was cancelled. A read does not wait then.
    var isReaderCancelled = false
    var room: Promise<Void>?
    var timer: FutureTimer?
    var stop = Stop.unknown
    /// Copies of all bytes, such as that of a cache.
    var copies: [BodyCopy] = []
    var trailers = HTTPHeaders()
  }

  /// How the transport is stopped.
  private enum Stop {
    /// The transport has not said it.
    case unknown
    case closure(@Sendable () -> Void)
    /// The transport must stop, or has ended.
    case done(isRequested: Bool)
  }

  private let guarded: Locked<Guarded>
  private let promise = Promise<Void>()
  private let clock: any FutureClock

  init(_ rules: StreamState.Rules, clock: any FutureClock) {
    self.clock = clock
    guarded = Locked(Guarded(state: StreamState(rules, now: clock.now)))
    promise.future.named("body of \(rules.request)")
    promise.describeActivity(of: self) { pipe in
      let (count, hasUnread) = pipe.guarded.withLock { ($0.state.receivedCount, $0.state.hasUnread) }
      return hasUnread ? "waiting for the reader, \(count) bytes until now" : "receiving, \(count) bytes until now"
    }
    promise.onRequestCancel { [weak self] received in
      self?.act { $0.cancelAsked(isForced: received.options.contains(.forceImmediately), received.reason) }
      return .continue
    }
    if let timeout = rules.idleReadTimeout { watchReader(timeout) }
  }

  /// Completes when the body is whole, has failed, or was cancelled.
  var transfer: Future<Void> { promise.future }

  var receivedCount: Int { guarded.withLock { $0.state.receivedCount } }

  var hasRoom: Bool { guarded.withLock { $0.state.hasRoom } }

  var isAwaited: Bool { guarded.withLock { $0.state.isAwaited } }

  var trailers: HTTPHeaders { guarded.withLock { $0.trailers } }

  var hasUnread: Bool { guarded.withLock { $0.state.hasUnread } }

  private func watchReader(_ delay: Duration) {
    let timer = clock.schedule(after: delay) { [weak self] in
      guard let self else { return }
      let now = clock.now
      var again: Duration?
      act { state in
        let fired = state.idleTimerFired(now: now)
        again = fired.again
        return fired.actions
      }
      if let again { watchReader(again) }
    }
    let isNeeded = guarded.withLock { guarded in
      guard guarded.state.end == nil else { return false }
      guarded.timer = timer
      return true
    }
    if !isNeeded { timer.cancel() }
  }
}

// MARK: - The transport

extension BodyPipe {
  /// - Returns: Whether the buffer has room for more.
  func write(_ bytes: Data) throws(HTTPError) -> Bool {
    let now = clock.now
    var copies: [BodyCopy] = []
    perform { guarded in
      copies = guarded.copies
      return guarded.state.received(bytes, now: now)
    }
    for copy in copies { copy.append(bytes) }
    let (end, hasRoom) = guarded.withLock { ($0.state.end, $0.state.hasRoom) }
    if case .failure(let error as HTTPError) = end, error.code == .streamOverflow { throw error }
    return hasRoom
  }

  /// Copies all bytes from now on.
  ///
  /// - Returns: `false` if bytes have arrived before, or the transfer has ended.
  func copy(to copy: BodyCopy) -> Bool {
    guarded.withLock { guarded in
      guard guarded.state.receivedCount == 0, guarded.state.end == nil else { return false }
      guarded.copies.append(copy)
      return true
    }
  }

  func room() -> Future<Void> {
    guarded.withLock { guarded in
      guard guarded.state.pauses() else { return .succeeded }
      let promise = guarded.room ?? Promise<Void>()
      guarded.room = promise
      return promise.future
    }
  }

  func onStop(_ body: @escaping @Sendable () -> Void) {
    let (isRequested, replaced) = guarded.withLock { guarded -> (Bool, Stop) in
      let previous = guarded.stop
      if case .done(let isRequested) = previous { return (isRequested, previous) }
      guarded.stop = .closure(body)
      return (false, previous)
    }
    _ = replaced  // Released here, not under the lock.
    if isRequested { body() }
  }

  /// - Returns: Whether the transfer was in flight.
  func transportEnded(_ outcome: Outcome<Void>, trailers: HTTPHeaders = HTTPHeaders()) -> Bool {
    perform { guarded in
      let isEnd = guarded.state.end == nil
      let actions = guarded.state.transportEnded(outcome)
      if isEnd, case .success = guarded.state.end { guarded.trailers = trailers }
      return actions
    }
  }

  func fail(_ error: HTTPError) {
    act { $0.failed(error) }
  }
}

// MARK: - The reader

extension BodyPipe {
  /// Returns the next chunk, or `nil` at the end. It is called for one read at a time.
  nonisolated(nonsending) func read() async throws -> Data? {
    if let result = readAtOnce() { return try result.get() }
    let result = await withUnsafeContinuation { continuation in
      let now = clock.now
      var delivery: StreamState.Delivery?
      perform { guarded in
        guard !guarded.isReaderCancelled else {
          delivery = .failure(CancellationError())
          return StreamState.Actions()
        }
        let read = guarded.state.read(now: now)
        delivery = read.delivery
        if delivery == nil { guarded.waiting = continuation }
        return read.actions
      }
      if let delivery { continuation.resume(returning: delivery.result) }
    }
    return try result.get()
  }

  /// Returns what can be read without waiting, or `nil`.
  func readAtOnce() -> Result<Data?, any Error>? {
    let now = clock.now
    var delivery: StreamState.Delivery?
    perform { guarded in
      guard guarded.state.isReadable else { return StreamState.Actions() }
      let read = guarded.state.read(now: now)
      delivery = read.delivery
      return read.actions
    }
    return delivery?.result
  }

  /// Ends a read that waits, because its task was cancelled. Calls no other code: the runtime may hold a lock of the task.
  func cancelReader() {
    guarded.withLock { guarded in
      guarded.isReaderCancelled = true
      return guarded.waiting.take()
    }?.resume(returning: .failure(CancellationError()))
  }

  var isReaderCancelled: Bool { guarded.withLock { $0.isReaderCancelled } }

  /// - Returns: Whether the interest of the reader ends before the transfer.
  func readerLeft() -> Bool {
    var isEarly = false
    act { state in
      let left = state.readerLeft()
      isEarly = left.isEarly
      return left.actions
    }
    return isEarly
  }
}

// MARK: - Performing actions

extension BodyPipe {
  @discardableResult
  private func act(_ event: (inout StreamState) -> StreamState.Actions) -> Bool {
    perform { guarded in event(&guarded.state) }
  }

  /// Passes an event to the state, and performs the actions outside the lock: the transport is stopped first, so that
  /// callers that continue find it stopping.
  ///
  /// - Returns: Whether the event ended the transfer.
  @discardableResult
  private func perform(_ event: (inout Guarded) -> StreamState.Actions) -> Bool {
    let (actions, stop, waiting, room, timer) = guarded.withLock { guarded in
      let actions = event(&guarded)
      // Returned even if it is not called, because a closure must not be released under the lock.
      var stop: (@Sendable () -> Void)?
      if actions.stopsTransport || actions.end != nil {
        if case .closure(let body) = guarded.stop { stop = body }
        let wasRequested = if case .done(let isRequested) = guarded.stop { isRequested } else { false }
        guarded.stop = .done(isRequested: wasRequested || actions.stopsTransport)
      }
      return (
        actions, stop, actions.delivery == nil ? nil : guarded.waiting.take(),
        actions.notifiesRoom ? guarded.room.take() : nil, actions.end == nil ? nil : guarded.timer.take()
      )
    }
    timer?.cancel()
    if actions.stopsTransport { stop?() }
    if let end = actions.end { promise.complete(with: end) }
    if let delivery = actions.delivery { waiting?.resume(returning: delivery.result) }
    room?.succeed()
    return actions.end != nil
  }
}

extension StreamState.Delivery {
  fileprivate var result: Result<Data?, any Error> {
    switch self {
    case .chunk(let bytes): .success(bytes)
    case .end: .success(nil)
    case .failure(let error): .failure(error)
    }
  }
}
