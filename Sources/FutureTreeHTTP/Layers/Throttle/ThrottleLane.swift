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
final class ThrottleLane {
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
  /// Where it stands in the heap; nil if it is not there.
  fileprivate(set) var position: Int?

  var isListed: Bool { position != nil }
}

/// Lanes, the one with the least rank first. Pure: a binary heap whose lanes know their positions.
struct ThrottleLaneHeap {
  private var lanes: [ThrottleLane] = []

  var first: ThrottleLane? { lanes.first }
  var count: Int { lanes.count }

  /// - Complexity: O(log n) in the number of lanes, as all that follow.
  mutating func insert(_ lane: ThrottleLane) {
    lane.position = lanes.count
    lanes.append(lane)
    rise(from: lanes.count - 1)
  }

  mutating func removeFirst() {
    swap(0, lanes.count - 1)
    lanes.removeLast().position = nil
    sink(from: 0)
  }

  /// The rank of a lane has become less.
  mutating func hasRisen(_ lane: ThrottleLane) {
    if let position = lane.position { rise(from: position) }
  }

  /// The rank of the first lane has become greater.
  mutating func firstHasSunk() {
    sink(from: 0)
  }

  /// Takes out the lanes where nobody waits.
  ///
  /// - Complexity: O(n).
  mutating func removeIdle() {
    for lane in lanes { lane.position = nil }
    lanes.removeAll { $0.waiting == 0 }
    for (position, lane) in lanes.enumerated() { lane.position = position }
    for position in (0..<(lanes.count / 2)).reversed() { sink(from: position) }
  }

  private mutating func rise(from start: Int) {
    var position = start
    while position > 0, lanes[position].rank < lanes[(position - 1) / 2].rank {
      swap(position, (position - 1) / 2)
      position = (position - 1) / 2
    }
  }

  private mutating func sink(from start: Int) {
    var position = start
    while true {
      let children = (2 * position + 1)..<max(2 * position + 1, min(2 * position + 3, lanes.count))
      guard let least = children.min(by: { lanes[$0].rank < lanes[$1].rank }), lanes[least].rank < lanes[position].rank
      else { return }
      swap(position, least)
      position = least
    }
  }

  private mutating func swap(_ left: Int, _ right: Int) {
    guard left != right else { return }
    lanes.swapAt(left, right)
    lanes[left].position = left
    lanes[right].position = right
  }
}
