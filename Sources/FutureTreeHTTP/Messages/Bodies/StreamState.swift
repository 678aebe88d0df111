import Foundation
import FutureTree

/// The life of a body that a transport writes and one reader reads. Pure: takes no lock, calls no closure, reads no clock.
///
///     transport ──received──► buffer ──read──► reader
///
/// # Invariants
/// 1. The transfer ends once. Later events change only what the reader has not read.
/// 2. Nothing is lost silently: every received byte was read or is in the buffer, unless the reader has left or the
///    transfer was asked to cancel. A transfer that lost bytes after a cancellation request does not succeed.
/// 3. The transport is asked to stop at most once, and not after it has ended.
/// 4. The reader waits only while the buffer is empty and the transfer is in flight.
/// 5. After an error, and after the end, every read has the same result.
struct StreamState {
  /// The actions after an event, to be performed outside the lock.
  struct Actions {
    /// Deliver this to the waiting reader.
    var delivery: Delivery?
    /// Complete the transfer with this outcome.
    var end: Outcome<Void>?
    /// Ask the transport to stop.
    var stopsTransport = false
    /// Notify the transport that the buffer has room.
    var notifiesRoom = false
  }

  /// The result of a read.
  enum Delivery {
    case chunk(Data)
    case end
    case failure(any Error)
  }

  /// The rules of a stream.
  struct Rules {
    /// The request, which errors name.
    var request: HTTPRequest
    /// The maximum number of buffered bytes.
    var bufferLimit: Int
    var idleReadTimeout: Duration?

    /// The number of buffered bytes at which a transport with back-pressure pauses. It continues at half of them.
    var pauseLevel: Int { max(1, min(bufferLimit / 2, 256 << 10)) }
  }

  private enum Reader {
    /// The reader has not begun, or processes a chunk.
    case busy
    case waiting
    case left
  }

  /// The number of received bytes, including those that were read.
  private(set) var receivedCount = 0
  /// The outcome of the transfer, or `nil` while it is in flight.
  private(set) var end: Outcome<Void>?
  private let rules: Rules
  private var buffer = ChunkBuffer()
  private var reader = Reader.busy
  private var lastRead: Duration
  private var cancelReason: CancellationReason?
  /// Whether bytes were discarded after a cancellation request.
  private var hasDropped = false
  private var hasStopped = false
  private var isRoomAwaited = false

  init(_ rules: Rules, now: Duration) {
    self.rules = rules
    lastRead = now
  }

  /// Whether a read has a result without waiting.
  var isReadable: Bool {
    if case .left = reader { true } else { end != nil || hasUnread }
  }

  /// Whether the reader waits for bytes.
  var isAwaited: Bool {
    if case .waiting = reader { true } else { false }
  }

  /// Whether there are bytes that the reader has not read.
  var hasUnread: Bool { !buffer.isEmpty }
}

// MARK: - Events of the transport

extension StreamState {
  /// Registers bytes. If they exceed the limit of the buffer, the transfer fails with the code `streamOverflow`. A chunk for
  /// which the buffer has room is accepted whatever its size, so that a transport with back-pressure never overflows.
  mutating func received(_ bytes: Data, now: Duration) -> Actions {
    guard end == nil, !bytes.isEmpty else { return Actions() }
    if cancelReason != nil {
      hasDropped = true
      return Actions()
    }
    receivedCount += bytes.count
    switch reader {
    case .left: return Actions()
    case .waiting:
      reader = .busy
      lastRead = now
      return Actions(delivery: .chunk(bytes))
    case .busy:
      guard hasRoom || bytes.count <= rules.bufferLimit - buffer.count else {
        return finish(.failure(overflow), stopping: true)
      }
      buffer.append(bytes)
      return Actions()
    }
  }

  private var overflow: HTTPError {
    HTTPError(
      .streamOverflow,
      "The stream has more than \(rules.bufferLimit) unread bytes, and the transport cannot pause the server. "
        + "Read faster, or raise the `bufferLimit` of the delivery.")
  }

  /// Registers that the transport has ended, because the body is whole, because it failed, or because it was stopped.
  mutating func transportEnded(_ outcome: Outcome<Void>) -> Actions {
    hasStopped = true
    switch (outcome, cancelReason) {
    case (.success, let reason?) where hasDropped: return finish(.cancelled(reason))
    case (.cancelled, let reason?): return finish(.cancelled(reason))
    default: return finish(outcome)
    }
  }

  /// Whether the transport should continue to write.
  var hasRoom: Bool { end != nil || cancelReason != nil || buffer.count < rules.pauseLevel }

  /// Registers that the transport pauses until there is room. Returns `false` if there is room.
  mutating func pauses() -> Bool {
    isRoomAwaited = !hasRoom
    return isRoomAwaited
  }
}

// MARK: - Events of the transfer

extension StreamState {
  mutating func cancelAsked(isForced: Bool = false, _ reason: CancellationReason) -> Actions {
    guard end == nil else { return Actions() }
    cancelReason = reason
    if isForced { return finish(.cancelled(reason), stopping: true) }
    return discardBuffer(stopping: true)
  }

  /// Registers that a time limit of the transfer has passed. If the transfer was asked to cancel, the cancellation was not
  /// confirmed in time.
  mutating func failed(_ error: HTTPError) -> Actions {
    finish(cancelReason.map { .cancelled($0) } ?? .failure(error), stopping: true)
  }

  /// - Returns: The actions, and the time after which the timer fires again. The time is `nil` if no timer is needed.
  mutating func idleTimerFired(now: Duration) -> (actions: Actions, again: Duration?) {
    guard end == nil, let timeout = rules.idleReadTimeout else { return (Actions(), nil) }
    switch reader {
    case .left: return (Actions(), nil)
    case .waiting: return (Actions(), timeout)
    case .busy:
      let left = lastRead + timeout - now
      guard left <= .zero else { return (Actions(), left) }
      let error = HTTPError(
        .bodyNotRead,
        "The stream was not read for \(timeout.rounded). Read it, or raise the `idleReadTimeout` of the delivery.")
      return (failed(error), nil)
    }
  }
}

// MARK: - Events of the reader

extension StreamState {
  /// Returns the next delivery. Returns `nil` if the reader has to wait for it.
  mutating func read(now: Duration) -> (delivery: Delivery?, actions: Actions) {
    lastRead = now
    if case .left = reader { return (.failure(CancellationError()), Actions()) }
    if let chunk = buffer.popFirst() { return (.chunk(chunk), roomActions()) }
    reader = end == nil ? .waiting : .busy
    return (end.map(StreamState.delivery), Actions())
  }

  /// Registers that the reader has left. The bytes that it has not read are discarded, now and later.
  ///
  /// - Returns: The actions, and whether the interest of the reader ends before the transfer.
  mutating func readerLeft() -> (actions: Actions, isEarly: Bool) {
    let wasAwaited = isAwaited
    reader = .left
    buffer = ChunkBuffer()
    var actions = roomActions()
    if wasAwaited { actions.delivery = .failure(CancellationError()) }
    return (actions, end == nil)
  }
}

// MARK: - Endings

extension StreamState {
  private mutating func finish(_ outcome: Outcome<Void>, stopping: Bool = false) -> Actions {
    guard end == nil else { return Actions() }
    var (outcome, actions) = (outcome, Actions())
    if case .failure(let error as HTTPError) = outcome { outcome = .failure(error.naming(rules.request)) }
    if case .cancelled = outcome { actions = discardBuffer(stopping: stopping) }
    end = outcome
    actions.end = outcome
    if isAwaited {
      reader = .busy
      actions.delivery = StreamState.delivery(outcome)
    }
    return actions.merging(stopActions(stopping), roomActions())
  }

  private mutating func discardBuffer(stopping: Bool) -> Actions {
    if !buffer.isEmpty { hasDropped = true }
    buffer = ChunkBuffer()
    return stopActions(stopping).merging(roomActions())
  }

  private mutating func stopActions(_ stops: Bool) -> Actions {
    guard stops, !hasStopped else { return Actions() }
    hasStopped = true
    return Actions(stopsTransport: true)
  }

  private mutating func roomActions() -> Actions {
    guard isRoomAwaited else { return Actions() }
    let isNotified = end != nil || cancelReason != nil || buffer.count <= rules.pauseLevel / 2
    if isNotified { isRoomAwaited = false }
    return Actions(notifiesRoom: isNotified)
  }

  private static func delivery(_ outcome: Outcome<Void>) -> Delivery {
    switch outcome {
    case .success: .end
    case .failure(let error): .failure(error)
    case .cancelled(let reason): .failure(FutureCancelled(reason: reason))
    }
  }
}

extension StreamState.Actions {
  fileprivate func merging(_ others: StreamState.Actions...) -> StreamState.Actions {
    others.reduce(into: self) { all, other in
      all.delivery = all.delivery ?? other.delivery
      all.end = all.end ?? other.end
      all.stopsTransport = all.stopsTransport || other.stopsTransport
      all.notifiesRoom = all.notifiesRoom || other.notifiesRoom
    }
  }
}

/// A queue of chunks, and the number of their bytes. Many small chunks are joined, so that the memory of the queue is
/// proportional to that number.
private struct ChunkBuffer {
  private var chunks: [Data] = []
  private var first = 0
  private(set) var count = 0

  var isEmpty: Bool { first == chunks.count }

  mutating func append(_ chunk: Data) {
    count += chunk.count
    if chunks.count - first >= 64, chunks[chunks.count - 1].count < 4096 {
      chunks[chunks.count - 1].append(chunk)
    } else {
      chunks.append(chunk)
    }
  }

  mutating func popFirst() -> Data? {
    guard !isEmpty else { return nil }
    var chunk = Data()
    swap(&chunk, &chunks[first])
    first += 1
    count -= chunk.count
    if first == chunks.count || first >= max(64, chunks.count / 2) {
      chunks.removeFirst(first)
      first = 0
    }
    return chunk
  }
}
