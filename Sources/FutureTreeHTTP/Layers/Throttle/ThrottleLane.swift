import FutureTree

/// The rank of a queued request: the lowest rank begins first. Pure.
struct ThrottleRank: Comparable {
  /// The time of arrival, moved forward according to the priority.
  let time: Duration
  /// The ticket, which orders requests of the same time.
  let ticket: UInt64

  static func < (first: ThrottleRank, second: ThrottleRank) -> Bool {
    (first.time, first.ticket) < (second.time, second.ticket)
  }
}

/// The queued requests of one host, in a list for each priority. The queue that owns the lane protects it.
final class ThrottleLane: HeapElement {
  /// The ends of a list. Both are `nil` if the list is empty.
  struct Line {
    var first: UInt64?
    var last: UInt64?
  }

  /// The number of requests in flight to this host.
  var running = 0
  /// The number of queued requests.
  var waiting = 0
  /// The lists by priority.
  var lines = [Line](repeating: Line(), count: RequestPriority.levelCount)
  /// The rank of the first request, or a lower one: when a request leaves, the next one is not determined immediately.
  var rank = ThrottleRank(time: .zero, ticket: 0)
  var position: Int?

  var isListed: Bool { position != nil }

  func isBefore(_ other: ThrottleLane) -> Bool { rank < other.rank }
}
