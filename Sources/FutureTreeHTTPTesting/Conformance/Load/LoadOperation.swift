/// One kind of operation of a load test.
enum LoadOperation: String, CaseIterable, Sendable {
  /// A request that is cancelled while its response is held at a random byte.
  case cancelledRequest
  /// A stream that ends early, at a random byte.
  case cancelledStream
  case request
  case stream
  case upload
  /// A body whose connection is closed at a random byte.
  case cut
  /// A body whose connection is reset at a random byte.
  case reset
  /// A slow body that exceeds a time limit or is cancelled.
  case slow
  /// A stream without a reader.
  case unread
  case transportReset

  static let cancellations: [LoadOperation] = [.cancelledRequest, .cancelledStream]

  /// All operations. Few of them are resets of the transport, because a reset cancels the others.
  static let mixed = (0..<5).flatMap { _ in allCases.filter { $0 != .transportReset } } + [.transportReset]

  /// The operations that succeed unless a reset of the transport cancels them.
  static let successes: [LoadOperation] = [.request, .stream, .upload]

  /// The ending of an operation that is cancelled before the test requested it.
  static let cancelledUnasked = "cancelled without a request"

  /// The endings that only a reset of the transport can cause.
  static let resetEndings: Set = ["cancelled", cancelledUnasked]

  /// The endings of a correct transport. A reset of the transport can cancel every other operation.
  var endings: Set<String> {
    switch self {
    case .cancelledRequest, .cancelledStream: ["succeeded", "cancelled"]
    case .request, .stream, .upload, .transportReset: ["succeeded"]
    case .cut, .reset: ["truncatedBody", "connectionLost"]
    case .slow: ["timedOut", "cancelled"]
    case .unread: ["bodyNotRead"]
    }
  }
}

/// The outcomes of operations.
struct LoadOutcomes {
  private(set) var counts: [String: Int] = [:]
  private(set) var faults: [String] = []

  /// - Parameter wasReset: Whether the transport was reset while the operation ran.
  mutating func add(_ operation: LoadOperation, _ ending: String, wasReset: Bool) {
    counts["\(operation): \(ending)", default: 0] += 1
    guard !operation.endings.contains(ending) else { return }
    if wasReset, LoadOperation.resetEndings.contains(ending), operation != .transportReset { return }
    add(fault: "\(operation) ended with \(ending)")
  }

  /// Adds a fault for each operation that should have succeeded and never did.
  mutating func checkSuccesses() {
    for operation in LoadOperation.successes {
      let endings = counts.filter { $0.key.hasPrefix("\(operation): ") }
      if endings.values.reduce(0, +) >= 10, endings["\(operation): succeeded"] == nil {
        add(fault: "\(operation) never succeeded")
      }
    }
  }

  mutating func add(fault: String) {
    if faults.count < 20, !faults.contains(fault) { faults.append(fault) }
  }

  mutating func merge(_ other: LoadOutcomes) {
    counts.merge(other.counts, uniquingKeysWith: +)
    for fault in other.faults { add(fault: fault) }
  }
}
