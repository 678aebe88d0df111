/// What is to happen when: the earliest first, and among equals what was added first. Pure: reads no clock.
///
/// A binary heap in which each entry knows its position, so that one can be taken out from the middle.
package struct TimerQueue {
  package typealias Body = @Sendable () -> Void

  /// A body and its time. The queue's owner guards it.
  package final class Entry: @unchecked Sendable {  // Because: `position` and `body` are guarded as the queue is.
    fileprivate let deadline: Duration
    fileprivate let order: Int
    fileprivate var position: Int?
    fileprivate var body: Body?

    fileprivate init(deadline: Duration, order: Int, body: @escaping Body) {
      self.deadline = deadline
      self.order = order
      self.body = body
    }

    fileprivate func isBefore(_ other: Entry) -> Bool {
      (deadline, order) < (other.deadline, other.order)
    }
  }

  private var heap: [Entry] = []
  private var added = 0

  package init() {}

  package var count: Int { heap.count }

  /// When the next body is due.
  package var nextDeadline: Duration? { heap.first?.deadline }

  /// - Complexity: O(log n).
  package mutating func insert(at deadline: Duration, _ body: @escaping Body) -> Entry {
    let entry = Entry(deadline: deadline, order: added, body: body)
    added += 1
    heap.append(entry)
    entry.position = heap.count - 1
    rise(from: heap.count - 1)
    return entry
  }

  /// Takes an entry out, if it is still here, and returns its body, to be freed outside the owner's lock.
  ///
  /// - Complexity: O(log n).
  package mutating func remove(_ entry: Entry) -> Body? {
    guard let position = entry.position else { return nil }
    swap(position, heap.count - 1)
    heap.removeLast()
    entry.position = nil
    if position < heap.count {
      rise(from: position)
      sink(from: position)
    }
    return entry.body.take()
  }

  /// Takes out the first body that is due at `now`, with its time.
  package mutating func popDue(at now: Duration) -> (deadline: Duration, body: Body)? {
    guard let first = heap.first, first.deadline <= now, let body = remove(first) else { return nil }
    return (first.deadline, body)
  }

  private mutating func rise(from start: Int) {
    var position = start
    while position > 0, heap[position].isBefore(heap[(position - 1) / 2]) {
      swap(position, (position - 1) / 2)
      position = (position - 1) / 2
    }
  }

  private mutating func sink(from start: Int) {
    var position = start
    while true {
      let children = (2 * position + 1)..<max(2 * position + 1, min(2 * position + 3, heap.count))
      guard let least = children.min(by: { heap[$0].isBefore(heap[$1]) }), heap[least].isBefore(heap[position])
      else { return }
      swap(position, least)
      position = least
    }
  }

  private mutating func swap(_ left: Int, _ right: Int) {
    guard left != right else { return }
    heap.swapAt(left, right)
    heap[left].position = left
    heap[right].position = right
  }
}
