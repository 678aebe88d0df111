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

  /// The endings of a correct transport. A reset of the transport can cancel every operation.
  var endings: Set<String> {
    switch self {
    case .cancelledRequest, .cancelledStream, .request, .stream, .upload: ["succeeded", "cancelled"]
    case .cut, .reset: ["truncatedBody", "connectionLost", "cancelled"]
    case .slow: ["timedOut", "cancelled"]
    case .unread: ["bodyNotRead", "cancelled"]
    case .transportReset: ["succeeded"]
    }
  }
}

/// The outcomes of operations.
struct LoadOutcomes {
  private(set) var counts: [String: Int] = [:]
  private(set) var faults: [String] = []

  mutating func add(_ operation: LoadOperation, _ ending: String) {
    counts["\(operation): \(ending)", default: 0] += 1
    if !operation.endings.contains(ending) { add(fault: "\(operation) ended with \(ending)") }
  }

  mutating func add(fault: String) {
    if faults.count < 20 { faults.append(fault) }
  }

  mutating func merge(_ other: LoadOutcomes) {
    counts.merge(other.counts, uniquingKeysWith: +)
    for fault in other.faults { add(fault: fault) }
  }
}
