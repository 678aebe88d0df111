/// An object that is in at most one `LinkedList`. The list allocates nothing for it.
@usableFromInline
class ListEntry: @unchecked Sendable {  // Because: the owner of the list guards both.
  @exclusivity(unchecked) fileprivate final var next: Unmanaged<ListEntry>?
  /// The previous entry. For the first entry of a list, the last one. `nil` outside a list.
  @exclusivity(unchecked) fileprivate final var previous: Unmanaged<ListEntry>?

  @usableFromInline init() {}

  /// Whether the entry is in a list. Guarded like the list itself.
  final var isListed: Bool { previous != nil }

  /// Performs the work of this entry when a trampoline calls it.
  func runDeferred() {}
}

/// A list of objects in the order in which they were added. It retains each entry once. Appending and removing are O(1).
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

  /// Removes the entry, if it is in this list. The caller has its own reference, so nothing is deallocated.
  ///
  /// - Precondition: The entry is in this list or in none.
  mutating func remove(_ entry: Element) {
    if detach(entry) { Unmanaged.passUnretained(entry).release() }
  }

  /// Removes the entry if it is in this list, without releasing the reference to it. Returns whether it was in the list.
  private mutating func detach(_ entry: Element) -> Bool {
    // If the list is empty, the entry may belong to another thread, which took the whole list.
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

  /// Removes the first entry and returns it with the reference that the list owned.
  mutating func popFirst() -> Element? {
    let last = first?._withUnsafeGuaranteedRef { $0.previous }
    first?._withUnsafeGuaranteedRef { $0.next }?._withUnsafeGuaranteedRef { $0.previous = last }
    return takeFirst()?.takeRetainedValue()
  }

  /// Removes the last entry and returns it with the reference that the list owned.
  mutating func popLast() -> Element? {
    guard let last = first?._withUnsafeGuaranteedRef({ $0.previous }) else { return nil }
    let entry = Unmanaged<Element>.fromOpaque(last.toOpaque())
    _ = entry._withUnsafeGuaranteedRef { detach($0) }
    return entry.takeRetainedValue()
  }

  /// Removes the first entry and returns it with the reference that the list owned, without repairing the links of the list.
  /// From then on, the caller removes entries only with this method, unless it repairs the list, as `popFirst` does.
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

  /// The only entry, or `nil` if there are none or several.
  var only: Element? {
    guard let entry = first?.takeUnretainedValue(), entry.next == nil else { return nil }
    return unsafeDowncast(entry, to: Element.self)
  }

  /// The entries, in order, retained.
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
