/// The state that a source shares with its tokens: the reason for the cancellation, the registrations and the linked
/// sources.
///
/// # Invariants
/// 1. `lock` guards every field here, the links of the entries, the body of a listed entry, and the `child` of a listed
///    link. No thread holds two locks, and nothing is released under a lock.
/// 2. Once `reason` is set, only `registrations` can have entries. The cancelling thread takes them out one by one. A body
///    whose entry is still listed has not begun, and its entry can be removed.
/// 3. A parent retains its children; a child does not retain its parents. A registration retains its state. A state whose
///    source and parents are gone cannot be cancelled. It releases its contents at once, and does not wait for its `deinit`.
/// 4. A state detaches from its parents once it is cancelled, or once it has no registrations, no children and no source.
final class CancellationTokenState: @unchecked Sendable {  // Because: see invariant 1.
  private let lock = Lock()
  @exclusivity(unchecked) private var reason: CancellationReason?
  @exclusivity(unchecked) private var registrations = LinkedList<CancellationEntry>()
  @exclusivity(unchecked) private var children = LinkedList<Link>()
  /// Whether the source exists. Its tokens retain it. Code can register only while the source exists.
  @exclusivity(unchecked) private var hasSource = true
  /// The entries of this state in the lists of the parents that can cancel it.
  @exclusivity(unchecked) private var links: [Link] = []

  /// An entry for one linked source in the list of one parent.
  private final class Link: ListEntry, @unchecked Sendable {  // Because: see invariant 1.
    weak let parent: CancellationTokenState?
    @exclusivity(unchecked) var child: CancellationTokenState?

    init(parent: CancellationTokenState, child: CancellationTokenState) {
      self.parent = parent
      self.child = child
    }
  }

  init() {}

  init(linkedTo parents: [CancellationTokenState]) {
    for parent in parents {
      let link = Link(parent: parent, child: self)
      lock.withLock { links.append(link) }
      if let reason = parent.add(link) { cancel(reason) }
      // A concurrent cancellation took the listed links, but could not take a link that was not listed yet.
      if currentReason != nil {
        Self.remove(lock.withLock { takeLinks() } + [link])
        return
      }
    }
  }

  /// The reason for the cancellation, or `nil` if this state was not cancelled.
  var currentReason: CancellationReason? { lock.withLock { reason } }

  /// The number of registrations and linked sources in the lists of this state.
  ///
  /// - Complexity: O(n).
  var listedCount: Int { lock.withLock { registrations.entries.count + children.entries.count } }
}

// MARK: - Cancelling

extension CancellationTokenState {
  /// Cancels this state and the states linked to it. All of them have the reason before the first body runs.
  @discardableResult
  func cancel(_ reason: CancellationReason) -> Bool {
    guard let (children, links) = begin(reason) else { return false }
    Self.remove(links)
    let linked = children.isEmpty ? [] : Self.begin(reason, children)
    callRegistrations(reason)
    for state in linked { state.callRegistrations(reason) }
    return true
  }

  /// Sets the reason of linked states and of their linked states. Returns the states that had no reason.
  private static func begin(_ reason: CancellationReason, _ children: [Child]) -> [CancellationTokenState] {
    var cancelled: [CancellationTokenState] = []
    var pending = children
    var next = 0
    while next < pending.count {
      let child = pending[next].state
      next += 1
      guard let (children, links) = child.begin(reason) else { continue }
      remove(links)
      pending += children
      cancelled.append(child)
    }
    return cancelled
  }

  /// Sets the reason. Returns the children and the links to remove, or `nil` if this state was cancelled before.
  private func begin(_ reason: CancellationReason) -> (children: [Child], links: [Link])? {
    lock.withLock {
      guard self.reason == nil else { return nil }
      self.reason = reason
      return (takeChildren(), takeLinks())
    }
  }

  private func callRegistrations(_ reason: CancellationReason) {
    while let body = lock.withLock({ takeBody() }) {
      Trampoline.run { body(reason) }
    }
  }

  /// Removes and returns the body of the latest registration. Called under the lock.
  private func takeBody() -> CancellationEntry.Body? {
    registrations.popLast()?.body.take()
  }
}

// MARK: - Registering

/// The entry of one body that is registered with a token.
final class CancellationEntry: ListEntry, @unchecked Sendable {  // Because: the state's lock guards `body`.
  typealias Body = @Sendable (CancellationReason) -> Void

  @exclusivity(unchecked) fileprivate var body: Body?

  fileprivate init(_ body: @escaping Body) {
    self.body = body
  }
}

extension CancellationTokenState {
  func register(_ body: @escaping CancellationEntry.Body) -> CancellationRegistration {
    let entry = CancellationEntry(body)
    let reason: CancellationReason? = lock.withLock {
      if self.reason == nil { registrations.append(entry) }
      return self.reason
    }
    guard let reason else { return CancellationRegistration(entry: entry, state: self) }
    Trampoline.run { body(reason) }
    return CancellationRegistration(entry: nil, state: nil)
  }

  /// Removes an entry. Returns whether it was listed with a body.
  func remove(_ entry: CancellationEntry) -> Bool {
    let (body, links) = lock.withLock {
      guard entry.isListed else { return (nil as CancellationEntry.Body?, [Link]()) }
      registrations.remove(entry)
      return (entry.body.take(), takeLinksIfDone())
    }
    Self.remove(links)
    return body != nil  // Released here, not under the lock.
  }
}

// MARK: - Release

extension CancellationTokenState {
  /// Handles the deallocation of the source. Its tokens retain the source, so they are gone as well.
  func sourceWasDropped() {
    let (links, abandoned) = lock.withLock {
      hasSource = false
      return (takeLinksIfDone(), takeAbandoned())
    }
    Self.remove(links)
    // A loop, so that a chain of any length is released.
    var pending = abandoned.children
    while let (link, child) = pending.popLast() {
      let abandoned = child.lock.withLock {
        child.links.removeAll { $0 === link }
        return child.takeAbandoned()
      }
      pending += abandoned.children
    }
  }

  /// Takes the contents that no cancellation can reach anymore. The caller releases them outside the lock. Called under it.
  private func takeAbandoned() -> (bodies: [CancellationEntry.Body], children: [Child]) {
    guard !hasSource, links.isEmpty, reason == nil else { return ([], []) }
    var bodies: [CancellationEntry.Body] = []
    while let body = takeBody() { bodies.append(body) }
    return (bodies, takeChildren())
  }
}

// MARK: - Links

extension CancellationTokenState {
  /// Adds an entry for a linked source. Returns the reason instead if this state was cancelled.
  private func add(_ link: Link) -> CancellationReason? {
    lock.withLock {
      guard reason == nil else { return reason }
      children.append(link)
      return nil
    }
  }

  /// Removes entries from the lists of their parents, and continues upward where a parent is no longer used.
  private static func remove(_ links: [Link]) {
    var links = links
    while let link = links.popLast() {
      guard let parent = link.parent else { continue }
      let (child, linksOfParent) = parent.lock.withLock {
        defer { link.child = nil }
        guard link.isListed else { return (link.child, [Link]()) }
        parent.children.remove(link)
        return (link.child, parent.takeLinksIfDone())
      }
      links += linksOfParent
      _ = child  // Released here, not under the lock.
    }
  }

  /// Called under the lock.
  private func takeLinks() -> [Link] {
    defer { links = [] }
    return links
  }

  /// Called under the lock.
  private func takeLinksIfDone() -> [Link] {
    !hasSource && registrations.isEmpty && children.isEmpty ? takeLinks() : []
  }

  private typealias Child = (link: Link, state: CancellationTokenState)

  /// Called under the lock.
  private func takeChildren() -> [Child] {
    var taken: [Child] = []
    while let link = children.popFirst() {
      if let child = link.child.take() { taken.append((link, child)) }
    }
    return taken
  }
}
