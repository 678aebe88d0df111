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
      deadline == other.deadline ? order < other.order : deadline < other.deadline
    }
  }

  private var heap = Heap<Entry>()
  private var added = 0
  /// The number of entries in the heap whose bodies were removed.
  private var removed = 0

  package init() {}

  /// The number of bodies.
  package var count: Int { heap.count - removed }

  /// The deadline of the next body, or `nil` if there is none.
  package var nextDeadline: Duration? {
    mutating get {
      while let first = heap.first, first.body == nil {
        heap.remove(first)
        removed -= 1
      }
      return heap.first?.deadline
    }
  }

  /// - Complexity: O(log n), O(1) if no body has a later deadline.
  package mutating func insert(at deadline: Duration, _ body: @escaping Body) -> Entry {
    let entry = Entry(deadline: deadline, order: added, body: body)
    added += 1
    heap.insert(entry)
    return entry
  }

  /// Removes an entry, if it is still in the queue. Returns its body, to be released outside the owner's lock.
  ///
  /// The heap keeps the entry for a while, because most timers of a load are removed long before they are due.
  ///
  /// - Complexity: O(1) amortized.
  package mutating func remove(_ entry: Entry) -> Body? {
    guard let body = entry.body.take() else { return nil }
    removed += 1
    if removed > count + 64 {
      heap.removeAll { $0.body == nil }
      removed = 0
    }
    return body
  }

  /// Removes the first body that is due at `now`, and returns it with its deadline.
  package mutating func popDue(at now: Duration) -> (deadline: Duration, body: Body)? {
    guard let deadline = nextDeadline, deadline <= now, let first = heap.first, let body = first.body.take() else {
      return nil
    }
    heap.remove(first)
    return (deadline, body)
  }
}
