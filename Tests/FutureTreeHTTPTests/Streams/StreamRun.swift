import Foundation
import FutureTree

@testable import FutureTreeHTTP

/// One life of a stream with a limit of 8 bytes, and a record that checks its invariants.
struct StreamRun {
  enum Event: String, CaseIterable, Sendable {
    case bytes, tooMany, whole, cut, stopped, cancel, force, limit, idle, read, leave
  }

  private var state = StreamState(
    .init(request: .feed, bufferLimit: 8, idleReadTimeout: .seconds(60)), now: .zero)
  private var written = 0
  private var delivered = 0
  private var isWaiting = false
  private var hasLeft = false
  private var isAsked = false
  private var transportHasEnded = false
  private var ends: [String] = []
  private var stops = 0
  private var lastRead: String?
  private(set) var fault: String?

  /// Handles an event, and returns the action as text.
  @discardableResult
  mutating func handle(_ event: Event) -> String {
    let earlier = state.end.map(text)
    let result = perform(event)
    if let earlier, state.end.map(text) != earlier { fault = "the outcome has changed" }
    if isWaiting, state.end != nil || state.hasUnread { fault = "the reader waits for nothing" }
    return result
  }

  private mutating func perform(_ event: Event) -> String {
    switch event {
    case .bytes: return wrote(2)
    case .tooMany: return wrote(9)
    case .whole: return transport(.success(()))
    case .cut: return transport(.failure(HTTPError(.connectionLost, "The connection was closed.")))
    case .stopped: return transport(.cancelled("the transport was stopped"))
    case .cancel:
      isAsked = true
      return text(state.cancelAsked("test"))
    case .force:
      isAsked = true
      return text(state.cancelAsked(isForced: true, "test"))
    case .limit: return text(state.failed(HTTPError(.deadlineExceeded, "It took too long.")))
    case .idle: return text(state.idleTimerFired(now: .seconds(60)).actions)
    case .read: return read()
    case .leave:
      let left = state.readerLeft()
      hasLeft = true
      let result = text(left.actions)
      return left.isEarly ? result + " early" : result
    }
  }

  private mutating func wrote(_ count: Int) -> String {
    if state.end == nil, !isAsked { written += count }
    return text(state.received(Data(count: count), now: .zero))
  }

  private mutating func transport(_ outcome: Outcome<Void>) -> String {
    let result = text(state.transportEnded(outcome))
    transportHasEnded = true
    return result
  }

  private mutating func read() -> String {
    guard !isWaiting else { return "waits" }
    let (delivery, actions) = state.read(now: .zero)
    if delivery == nil { isWaiting = true }
    return (delivery.map { text($0) } ?? "waits") + text(actions, none: "")
  }

  /// Reads to the end, if there is one.
  mutating func drain() {
    guard state.end != nil else { return }
    for _ in 0..<20 where !isWaiting { _ = read() }
    if case .success? = state.end, !hasLeft, delivered != written { fault = "\(written - delivered) bytes are lost" }
  }

  private mutating func text(_ actions: StreamState.Actions, none: String = "–") -> String {
    var parts: [String] = []
    if actions.stopsTransport {
      stops += 1
      if stops > 1 || transportHasEnded { fault = "the transport is stopped again" }
      parts.append("stop")
    }
    if let end = actions.end {
      ends.append(text(end))
      if ends.count > 1 { fault = "the transfer ended twice" }
      parts.append(text(end))
    }
    if let delivery = actions.delivery {
      if !isWaiting { fault = "a delivery without a reader" }
      isWaiting = false
      parts.append("→ " + text(delivery))
    }
    return parts.isEmpty ? none : parts.joined(separator: ", ")
  }

  private func text(_ outcome: Outcome<Void>) -> String {
    switch outcome {
    case .success: "success"
    case .failure(let error): (error as? HTTPError)?.code.description ?? "\(error)"
    case .cancelled: "cancelled"
    }
  }

  private mutating func text(_ delivery: StreamState.Delivery) -> String {
    let result: String
    switch delivery {
    case .chunk(let bytes):
      delivered += bytes.count
      result = "\(bytes.count) bytes"
    case .end: result = "end"
    case .failure(let error as HTTPError): result = error.code.description
    case .failure(is FutureCancelled): result = "FutureCancelled"
    case .failure(let error): result = "\(type(of: error))"
    }
    if let lastRead, !lastRead.hasSuffix("bytes"), lastRead != result, !hasLeft {
      fault = "\(result) after \(lastRead)"
    }
    lastRead = result
    return result
  }
}

/// The states of a stream: a path to each, and the action of each event in it.
extension StreamRun {
  /// The actions are in the order of `Event`: bytes, too many bytes, whole, cut, stopped, cancel, force, a limit, the idle
  /// timer, read, leave. "→" delivers to the waiting reader, and "early" is a reader that leaves before the end.
  static let states: [(String, [Event], [String])] = [
    (
      "nothing has happened", [],
      [
        "–", "–", "success", "connectionLost", "cancelled", "stop", "stop, cancelled",
        "stop, deadlineExceeded", "stop, bodyNotRead", "waits", "– early",
      ]
    ),
    (
      "bytes are unread", [.bytes],
      [
        "–", "–", "success", "connectionLost", "cancelled", "stop", "stop, cancelled",
        "stop, deadlineExceeded", "stop, bodyNotRead", "2 bytes", "– early",
      ]
    ),
    (
      "the buffer has no room", [.bytes, .bytes],
      [
        "–", "stop, streamOverflow", "success", "connectionLost", "cancelled", "stop", "stop, cancelled",
        "stop, deadlineExceeded", "stop, bodyNotRead", "2 bytes", "– early",
      ]
    ),
    (
      "the reader waits", [.read],
      [
        "→ 2 bytes", "→ 9 bytes", "success, → end", "connectionLost, → connectionLost", "cancelled, → FutureCancelled",
        "stop",
        "stop, cancelled, → FutureCancelled", "stop, deadlineExceeded, → deadlineExceeded", "–", "waits",
        "→ CancellationError early",
      ]
    ),
    (
      "asked to cancel", [.cancel],
      [
        "–", "–", "success", "connectionLost", "cancelled", "–", "cancelled", "cancelled", "cancelled", "waits",
        "– early",
      ]
    ),
    (
      "asked to cancel with unread bytes", [.bytes, .cancel],
      [
        "–", "–", "cancelled", "connectionLost", "cancelled", "–", "cancelled", "cancelled", "cancelled", "waits",
        "– early",
      ]
    ),
    (
      "asked to cancel while the reader waits", [.read, .cancel],
      [
        "–", "–", "success, → end", "connectionLost, → connectionLost", "cancelled, → FutureCancelled", "–",
        "cancelled, → FutureCancelled", "cancelled, → FutureCancelled", "–", "waits", "→ CancellationError early",
      ]
    ),
    (
      "the reader has left", [.leave],
      [
        "–", "–", "success", "connectionLost", "cancelled", "stop", "stop, cancelled", "stop, deadlineExceeded", "–",
        "CancellationError", "– early",
      ]
    ),
    (
      "the reader has left and asked to cancel", [.leave, .cancel],
      [
        "–", "–", "success", "connectionLost", "cancelled", "–", "cancelled", "cancelled", "–", "CancellationError",
        "– early",
      ]
    ),
    (
      "whole", [.whole],
      [
        "–", "–", "–", "–", "–", "–", "–", "–", "–", "end", "–",
      ]
    ),
    (
      "whole with unread bytes", [.bytes, .whole],
      [
        "–", "–", "–", "–", "–", "–", "–", "–", "–", "2 bytes", "–",
      ]
    ),
    (
      "failed by the transport", [.cut],
      [
        "–", "–", "–", "–", "–", "–", "–", "–", "–", "connectionLost", "–",
      ]
    ),
    (
      "failed by a limit, the transport stops", [.limit],
      [
        "–", "–", "–", "–", "–", "–", "–", "–", "–", "deadlineExceeded", "–",
      ]
    ),
    (
      "failed with unread bytes", [.bytes, .limit],
      [
        "–", "–", "–", "–", "–", "–", "–", "–", "–", "2 bytes", "–",
      ]
    ),
    (
      "cancelled", [.cancel, .stopped],
      [
        "–", "–", "–", "–", "–", "–", "–", "–", "–", "FutureCancelled", "–",
      ]
    ),
    (
      "forced, the transport stops", [.force],
      [
        "–", "–", "–", "–", "–", "–", "–", "–", "–", "FutureCancelled", "–",
      ]
    ),
  ]
}
