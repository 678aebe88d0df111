/// Scheduled bodies, the earliest deadline first. Bodies with equal deadlines keep the order in which they were added. Pure:
/// reads no clock.
package struct TimerQueue {
  package typealias Body = @Sendable () -> Void

  /// A body and its deadline. Guarded like the queue.
  package final class Entry: HeapElement, @unchecked Sendable {  // Because: its variables are guarded like the queue.
    package var position: Int?
    fileprivate let deadline: Duration
    fileprivate let order: Int
    fileprivate var body: Body?

    fileprivate init(deadline: Duration, order: Int, body: @escaping Body) {
      self.deadline = deadline
      self.order = order
      self.body = body
    }

    package func isBefore(_ other: Entry) -> Bool {
      (deadline, order) < (other.deadline, other.order)
    }
  }

  private var heap = Heap<Entry>()
  private var added = 0

  package init() {}

  package var count: Int { heap.count }

  /// The deadline of the next body, or `nil` if there is none.
  package var nextDeadline: Duration? { heap.first?.deadline }

  /// - Complexity: O(log n).
  package mutating func insert(at deadline: Duration, _ body: @escaping Body) -> Entry {
    let entry = Entry(deadline: deadline, order: added, body: body)
    added += 1
    heap.insert(entry)
    return entry
  }

  /// Removes an entry, if it is still in the queue. Returns its body, to be released outside the owner's lock.
  ///
  /// - Complexity: O(log n).
  package mutating func remove(_ entry: Entry) -> Body? {
    heap.remove(entry)
    return entry.body.take()
  }

  /// Removes the first body that is due at `now`, and returns it with its deadline.
  package mutating func popDue(at now: Duration) -> (deadline: Duration, body: Body)? {
    guard let first = heap.first, first.deadline <= now, let body = remove(first) else { return nil }
    return (first.deadline, body)
  }
}
