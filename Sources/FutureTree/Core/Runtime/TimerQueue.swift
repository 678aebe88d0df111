/// What is to happen when: the earliest first, and among equals what was added first. Pure: reads no clock.
package struct TimerQueue {
  package typealias Body = @Sendable () -> Void

  /// A body and its time. The queue's owner guards it.
  package final class Entry: HeapElement, @unchecked Sendable {  // Because: what varies is guarded as the queue is.
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

  /// When the next body is due.
  package var nextDeadline: Duration? { heap.first?.deadline }

  /// - Complexity: O(log n).
  package mutating func insert(at deadline: Duration, _ body: @escaping Body) -> Entry {
    let entry = Entry(deadline: deadline, order: added, body: body)
    added += 1
    heap.insert(entry)
    return entry
  }

  /// Takes an entry out, if it is still here, and returns its body, to be freed outside the owner's lock.
  ///
  /// - Complexity: O(log n).
  package mutating func remove(_ entry: Entry) -> Body? {
    heap.remove(entry)
    return entry.body.take()
  }

  /// Takes out the first body that is due at `now`, with its time.
  package mutating func popDue(at now: Duration) -> (deadline: Duration, body: Body)? {
    guard let first = heap.first, first.deadline <= now, let body = remove(first) else { return nil }
    return (first.deadline, body)
  }
}
