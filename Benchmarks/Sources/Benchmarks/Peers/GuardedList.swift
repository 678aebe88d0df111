import Synchronization

/// A list of closures that a `Mutex` guards: the peer of a pending future, which has its own lock.
final class GuardedList: Sendable {
  /// An entry of the list. Removing it takes constant time.
  final class Entry: @unchecked Sendable {  // Because: the mutex of the list guards the links.
    let body: @Sendable (Int) -> Void
    fileprivate var next: Entry?
    fileprivate unowned(unsafe) var previous: Entry?

    fileprivate init(_ body: @escaping @Sendable (Int) -> Void) {
      self.body = body
    }
  }

  private struct Ends {
    var first: Entry?
    unowned(unsafe) var last: Entry?
  }

  private let ends = Mutex(Ends())

  func append(_ body: @escaping @Sendable (Int) -> Void) -> Entry {
    let entry = Entry(body)
    ends.withLock { ends in
      entry.previous = ends.last
      if let last = ends.last { last.next = entry } else { ends.first = entry }
      ends.last = entry
    }
    return entry
  }

  func remove(_ entry: Entry) {
    ends.withLock { ends in
      let next = entry.next
      if let previous = entry.previous { previous.next = next } else { ends.first = next }
      if let next { next.previous = entry.previous } else { ends.last = entry.previous }
      entry.next = nil
      entry.previous = nil
    }
  }
}
