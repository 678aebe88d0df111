import FutureTree

/// What tells how soon something goes on: the least is first. Pure.
struct ThrottleRank: Comparable {
  /// When it came, moved forward for its priority.
  let time: Duration
  /// Tells those of one time apart.
  let ticket: UInt64

  static func < (first: ThrottleRank, second: ThrottleRank) -> Bool {
    (first.time, first.ticket) < (second.time, second.ticket)
  }
}

/// Those that wait for one host, in a list for each priority. The queue that it belongs to guards it.
final class ThrottleLane: HeapElement {
  /// The ends of a list; both are nil if it is empty.
  struct Line {
    var first: UInt64?
    var last: UInt64?
  }

  /// How many requests to this host run.
  var running = 0
  /// How many wait.
  var waiting = 0
  /// By priority.
  var lines = [Line](repeating: Line(), count: RequestPriority.levelCount)
  /// That of its first, or an earlier one: who leaves does not look for the next.
  var rank = ThrottleRank(time: .zero, ticket: 0)
  var position: Int?

  var isListed: Bool { position != nil }

  func isBefore(_ other: ThrottleLane) -> Bool { rank < other.rank }
}
