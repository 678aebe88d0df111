/// An entry in the list of what waits for a future: a derived future, a slot of a join, an observer, an awaiting task.
///
/// A derived future is its own entry, so that a link of a chain is one object.
///
/// # Invariants
/// 1. `next`, `previous` and `isCounted` are guarded by the lock of the future in whose list the entry is. Once that
///    future has ended, they belong to the thread that tells its waiters.
/// 2. A listed entry is retained by the list, once.
@usableFromInline
class Waiter: @unchecked Sendable {  // Because: see invariant 1.
  @exclusivity(unchecked) fileprivate final var next: Unmanaged<Waiter>?
  /// The entry before; in the first entry of a list, the last one; nil outside a list.
  @exclusivity(unchecked) fileprivate final var previous: Unmanaged<Waiter>?
  /// What the typed code of this entry does when its turn comes.
  final let step: Step
  /// Whether the future waited for counts this entry as a consumer.
  @exclusivity(unchecked) final var isCounted = false
  /// Whether it is a `Node`.
  final let isFuture: Bool

  @usableFromInline init(isFuture: Bool = false, step: @escaping Step) {
    self.step = step
    self.isFuture = isFuture
  }

  /// The future on whose behalf the entry waits, if there is one.
  var owner: Node? { nil }

  /// Whether the entry is in a list. Guarded like the list.
  final var isListed: Bool { previous != nil }

  /// The typed code of an entry: a closure without captures, made where the types are known, so that it is specialised
  /// there. Returns whether the entry's owner has ended just now, so that the owner's waiters must be told.
  @usableFromInline typealias Step = @Sendable (_ entry: Waiter, _ upstream: Node, _ turn: Turn) -> Bool

  /// Why a step is taken.
  @usableFromInline
  enum Turn {
    /// The body runs now, and nobody else has it: `upstreamEnded`, decided already.
    case runsBody
    /// The entry has ended as its upstream did, and the body is not needed: `upstreamEnded`, decided already.
    case hasPassed
    /// The future that the entry waits for has ended.
    case upstreamEnded
    /// An executor got to the body of the entry.
    case bodyBegins
    /// The entry's branch ended early, and the body is still here.
    case endedEarly
    /// An executor dropped the body without running it.
    case bodyDropped
    /// The entry is being freed and holds a value.
    case destroyValue
  }
}

/// The entries that wait for one future, in the order in which they came. Appending and removing are O(1).
struct WaiterList {
  private var first: Unmanaged<Waiter>?

  @inline(__always)
  mutating func append(_ entry: Waiter) {
    let new = Unmanaged.passRetained(entry)
    guard let first else {
      entry.previous = new
      self.first = new
      return
    }
    let last = first._withUnsafeGuaranteedRef { $0.previous }
    entry.previous = last
    last?._withUnsafeGuaranteedRef { $0.next = new }
    first._withUnsafeGuaranteedRef { $0.previous = new }
  }

  /// Takes the entry out, if it is here. The caller has a reference of its own, so nothing is freed.
  ///
  /// - Precondition: the entry is in this list or in none.
  mutating func remove(_ entry: Waiter) {
    guard let previous = entry.previous, let first else { return }
    let next = entry.next
    if first.toOpaque() == Unmanaged.passUnretained(entry).toOpaque() {
      self.first = next
      next?._withUnsafeGuaranteedRef { $0.previous = previous }
    } else {
      previous._withUnsafeGuaranteedRef { $0.next = next }
      (next ?? first)._withUnsafeGuaranteedRef { $0.previous = previous }
    }
    entry.next = nil
    entry.previous = nil
    Unmanaged.passUnretained(entry).release()
  }

  /// Takes out the first entry, with the reference that the list had.
  mutating func popFirst() -> Waiter? {
    let last = first?._withUnsafeGuaranteedRef { $0.previous }
    first?._withUnsafeGuaranteedRef { $0.next }?._withUnsafeGuaranteedRef { $0.previous = last }
    return takeFirst()?.takeRetainedValue()
  }

  /// Takes out the last entry, with a reference of the caller's.
  mutating func popLast() -> Waiter? {
    guard let last = first?._withUnsafeGuaranteedRef({ $0.previous })?.takeUnretainedValue() else { return nil }
    remove(last)
    return last
  }

  /// Takes out the first entry of a future that has ended, with the reference that the list had. The entries behind are
  /// not told: from now on the list is only taken from.
  @inline(__always)
  mutating func takeFirst() -> Unmanaged<Waiter>? {
    guard let entry = first else { return nil }
    first = entry._withUnsafeGuaranteedRef { entry in
      entry.previous = nil
      return entry.next.take()
    }
    return entry
  }

  var isEmpty: Bool { first == nil }

  /// The entry, if there is no other.
  var only: Waiter? {
    guard let entry = first?.takeUnretainedValue(), entry.next == nil else { return nil }
    return entry
  }

  /// The entries, retained, for a picture of the tree.
  var entries: [Waiter] {
    var entries: [Waiter] = []
    var cursor = first
    while let entry = cursor?.takeUnretainedValue() {
      entries.append(entry)
      cursor = entry.next
    }
    return entries
  }
}
