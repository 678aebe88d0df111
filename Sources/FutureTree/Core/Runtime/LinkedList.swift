/// An object that is in at most one `LinkedList`. The list allocates nothing for it.
@usableFromInline
class ListEntry: @unchecked Sendable {  // Because: the owner of the list guards both.
  @exclusivity(unchecked) fileprivate final var next: Unmanaged<ListEntry>?
  /// The entry before; in the first entry of a list, the last one; nil outside a list.
  @exclusivity(unchecked) fileprivate final var previous: Unmanaged<ListEntry>?

  @usableFromInline init() {}

  /// Whether the entry is in a list. Guarded like the list.
  final var isListed: Bool { previous != nil }

  /// Performs the work for which a trampoline calls this entry.
  func runDeferred() {}
}

/// Objects in the order in which they came. The list retains each once. Appending and removing are O(1).
struct LinkedList<Element: ListEntry> {
  private var first: Unmanaged<ListEntry>?

  @inline(__always)
  mutating func append(_ entry: Element) {
    let new = Unmanaged.passRetained(entry as ListEntry)
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
  mutating func remove(_ entry: Element) {
    if detach(entry) { Unmanaged.passUnretained(entry).release() }
  }

  /// Removes the entry if it is in this list, without releasing the reference to it. Returns whether it was in the list.
  private mutating func detach(_ entry: Element) -> Bool {
    // The entries of an empty list may belong to another thread, which took them out with the whole list.
    guard let first, let previous = entry.previous else { return false }
    let next = entry.next
    if first.toOpaque() == Unmanaged.passUnretained(entry as ListEntry).toOpaque() {
      self.first = next
      next?._withUnsafeGuaranteedRef { $0.previous = previous }
    } else {
      previous._withUnsafeGuaranteedRef { $0.next = next }
      (next ?? first)._withUnsafeGuaranteedRef { $0.previous = previous }
    }
    entry.next = nil
    entry.previous = nil
    return true
  }

  /// Takes out the first entry, with the reference that the list had.
  mutating func popFirst() -> Element? {
    let last = first?._withUnsafeGuaranteedRef { $0.previous }
    first?._withUnsafeGuaranteedRef { $0.next }?._withUnsafeGuaranteedRef { $0.previous = last }
    return takeFirst()?.takeRetainedValue()
  }

  /// Removes the last entry, and returns it with the list's reference to it.
  mutating func popLast() -> Element? {
    guard let last = first?._withUnsafeGuaranteedRef({ $0.previous }) else { return nil }
    let entry = Unmanaged<Element>.fromOpaque(last.toOpaque())
    _ = entry._withUnsafeGuaranteedRef { detach($0) }
    return entry.takeRetainedValue()
  }

  /// Takes out the first entry, with the reference that the list had, and does not repair the list behind it: a caller that does
  /// not repair it, as `popFirst` does, takes entries by this only from now on.
  @inline(__always)
  mutating func takeFirst() -> Unmanaged<Element>? {
    guard let entry = first else { return nil }
    first = entry._withUnsafeGuaranteedRef { entry in
      entry.previous = nil
      return entry.next.take()
    }
    return Unmanaged.fromOpaque(entry.toOpaque())
  }

  var isEmpty: Bool { first == nil }

  var hasSeveral: Bool { first.map { $0._withUnsafeGuaranteedRef { $0.next != nil } } ?? false }

  /// The entry, if there is no other.
  var only: Element? {
    guard let entry = first?.takeUnretainedValue(), entry.next == nil else { return nil }
    return unsafeDowncast(entry, to: Element.self)
  }

  /// The entries, retained.
  var entries: [Element] {
    var entries: [Element] = []
    var cursor = first
    while let entry = cursor?.takeUnretainedValue() {
      entries.append(unsafeDowncast(entry, to: Element.self))
      cursor = entry.next
    }
    return entries
  }
}
