/// What a source and its tokens share: whether it was cancelled, what is registered, and which sources are linked to it.
///
/// # Invariants
/// 1. `lock` guards everything here, the links of the entries, what is in an entry that is listed here, and the `child` of
///    a link that is listed here. Nobody holds two locks, and nothing is released under one.
/// 2. Once `reason` is set nothing is listed any more, `registrations` excepted, which the cancelling thread takes out one
///    by one: an entry that is still listed has not begun and can be ended.
/// 3. A parent holds its children, not a child its parents. A registration holds its state; so a state that nobody can
///    cancel any more, because its source and its parents are gone, lets go of everything, and does not wait to be freed.
/// 4. A state leaves its parents once nobody can register with it and nothing is registered, or once it is cancelled.
final class CancellationTokenState: @unchecked Sendable {  // Because: see invariant 1.
  private let lock = Lock()
  @exclusivity(unchecked) private var reason: CancellationReason?
  @exclusivity(unchecked) private var registrations = LinkedList<CancellationEntry>()
  @exclusivity(unchecked) private var children = LinkedList<Link>()
  /// Whether the source exists, which its tokens retain: with them code can register.
  @exclusivity(unchecked) private var hasSource = true
  /// This state's entries in the lists of the parents that can cancel it.
  @exclusivity(unchecked) private var links: [Link] = []

  /// An entry for one linked source in the list of one parent.
  private final class Link: ListEntry, @unchecked Sendable {  // Because: see 1.
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
      // Whoever cancelled us while we joined took our links, but could not take out one that was not listed yet.
      if currentReason != nil {
        Self.remove(lock.withLock { takeLinks() } + [link])
        return
      }
    }
  }

  /// Why it was cancelled, if it was.
  var currentReason: CancellationReason? { lock.withLock { reason } }

  /// How many registrations and linked sources are listed here.
  ///
  /// - Complexity: O(n).
  var listedCount: Int { lock.withLock { registrations.entries.count + children.entries.count } }
}

// MARK: - Cancelling

extension CancellationTokenState {
  /// Cancels this state and those linked to it, unless it was. All of them have the reason before the first body runs.
  @discardableResult
  func cancel(_ reason: CancellationReason) -> Bool {
    guard let (children, links) = begin(reason) else { return false }
    Self.remove(links)
    let linked = children.isEmpty ? [] : Self.begin(reason, children)
    callRegistrations(reason)
    for state in linked { state.callRegistrations(reason) }
    return true
  }

  /// Sets the reason of linked states, and of those linked to them. Returns those that had none.
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

  /// Returns the states that are next, and what to leave; nil if this one was cancelled before.
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

  /// The body of the registration that was made last. Called under the lock.
  private func takeBody() -> CancellationEntry.Body? {
    registrations.popLast()?.body.take()
  }
}

// MARK: - Registering

/// One body that is registered with a token.
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

  /// Takes the entry out. Returns false if it was not there.
  func remove(_ entry: CancellationEntry) -> Bool {
    let (body, links) = lock.withLock {
      guard entry.isListed else { return (nil as CancellationEntry.Body?, [Link]()) }
      registrations.remove(entry)
      return (entry.body.take(), takeLinksIfDone())
    }
    Self.remove(links)
    return body != nil  // It is freed here, not under the lock.
  }
}

// MARK: - Release

extension CancellationTokenState {
  /// The source is gone, and so are its tokens, which retain it.
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

  /// What nothing can cancel any more, to be released outside the lock. Called under it.
  private func takeAbandoned() -> (bodies: [CancellationEntry.Body], children: [Child]) {
    guard !hasSource, links.isEmpty, reason == nil else { return ([], []) }
    var bodies: [CancellationEntry.Body] = []
    while let body = takeBody() { bodies.append(body) }
    return (bodies, takeChildren())
  }
}

// MARK: - Links

extension CancellationTokenState {
  /// Adds an entry for a linked source; returns the reason instead if this one was cancelled.
  private func add(_ link: Link) -> CancellationReason? {
    lock.withLock {
      guard reason == nil else { return reason }
      children.append(link)
      return nil
    }
  }

  /// Takes entries out of the lists of parents, and so on upwards where that leaves a parent without a use.
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
      _ = child  // Freed here, not under the lock.
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
