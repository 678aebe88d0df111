import FutureTree

/// One reset of several chains that may share loaders. Each loader is reset once, when no chain can lead to it any more.
///
/// A link *passes the reset on* when its layer resets `next`, or ends. Until then every loader to which the link may lead
/// (`ChainOrder`) waits for it. A loader that the layer resets before `next` is an exception: the layer may wait for it. The
/// loader that was put into a chain last waits for none, so the run cannot deadlock.
///
/// The run is passed down in two ways: with the `next` that a layer gets and may use at any time, and as a task-local value, for
/// a user's loader that resets another one before it returns.
final class ResetRun: Sendable {
  /// A loader that the run has reached.
  private struct Part {
    let id: ObjectIdentifier
    let loader: any HTTPLoader
    let promise = Promise<Void>()
    var isWaiting = true
    /// It is being called, and may reset others before it returns.
    var isCalled = false
    /// It is a link that has not reset its `next`.
    var holdsNext = false
    /// Its layer, where that is an object.
    var layer: ObjectIdentifier?
    /// The loaders that it has reset.
    var reached: Set<ObjectIdentifier> = []
  }

  /// The part that is called on this thread or task.
  @TaskLocal private static var caller: (run: ResetRun, part: ObjectIdentifier)?

  /// In the order of arrival. `nil` when the run has ended: a reset that comes later is not of this run.
  private let parts = Locked<[Part]?>([])

  /// Resets some loaders in the run that calls, or in a new one.
  static func reset(_ loaders: [any HTTPLoader]) -> Future<Void> {
    if let (run, part) = caller, let joined = run.join(loaders, from: part) { return .resets(joined) }
    let run = ResetRun()
    return Future.resets(run.join(loaders, from: nil) ?? [])
      .ensure { run.end() }
      .shielded()
  }

  /// Resets a link in the run that calls. Returns `nil` if there is none.
  static func reset(_ link: LayeredLoader) -> Future<Void>? {
    guard let (run, part) = caller else { return nil }
    guard part == ObjectIdentifier(link) else { return run.join([link], from: part)?[0] }
    run.hold(part, identity(of: link.layer))
    let next = link.next
    return link.layer.reset(next: LoaderObject(next) { run.join([next], from: part, isNext: true)?[0] ?? next.reset() })
  }

  /// A link is called. Where its layer already holds in another link, it may join that reset and never reset its own `next`.
  private func hold(_ link: ObjectIdentifier, _ layer: ObjectIdentifier?) {
    parts.withLock { parts in
      guard let all = parts, let index = all.firstIndex(where: { $0.id == link }) else { return }
      parts![index].layer = layer
      parts![index].holdsNext = layer == nil || !all.contains { $0.holdsNext && $0.layer == layer }
    }
  }

  /// The loaders from which the run began have been reset. What others have joined and nobody awaits begins now.
  private func end() {
    for part in parts.withLock({ $0.take() }) ?? [] where part.isWaiting {
      part.promise.complete(.completeUsing(part.loader.reset()))
    }
  }

  /// Resets loaders on behalf of a part. Returns `nil` if the run has ended.
  ///
  /// - Parameter isNext: Whether the layer of the part has reset its `next`.
  private func join(
    _ loaders: [any HTTPLoader], from caller: ObjectIdentifier?, isNext: Bool = false
  ) -> [Future<Void>]? {
    let joined = parts.withLock { parts -> [(promise: Promise<Void>, isFirst: Bool)]? in
      guard parts != nil else { return nil }
      return loaders.map { loader in
        let id = ObjectIdentifier(loader as AnyObject)
        if let part = parts!.first(where: { $0.id == id }) { return (part.promise, false) }
        parts!.append(Part(id: id, loader: loader))
        return (parts!.last!.promise, true)
      }
    }
    var isCalled = false
    if let caller {
      change(caller) {
        if isNext { $0.holdsNext = false }
        $0.reached.formUnion(loaders.map { ObjectIdentifier($0 as AnyObject) })
        isCalled = $0.isCalled
      }
    }
    // The loop that calls it goes on when it has returned.
    if !isCalled { advance() }
    // What a part fails with is reported once.
    return joined?.map { $0.isFirst ? $0.promise.future.forwarded() : $0.promise.future.onComplete { _ in .succeeded } }
  }

  /// Resets every part to which nothing leads any more.
  private func advance() {
    while let part = beginNext() {
      let reset = ResetRun.$caller.withValue((self, part.id)) { part.loader.reset() }
      change(part.id) { $0.isCalled = false }
      reset.observe { outcome in
        self.change(part.id) { $0.holdsNext = false }
        part.promise.complete(with: outcome)
        self.advance()
      }
    }
  }

  private func beginNext() -> Part? {
    let order = ChainOrder.current.value  // Read for each part, because the previous part may have made links.
    return parts.withLock { parts in
      guard let all = parts else { return nil }
      let index = all.firstIndex { part in
        part.isWaiting && !all.contains { $0.id != part.id && ResetRun.blocks($0, part, all, order) }
      }
      guard let index else { return nil }
      parts![index].isWaiting = false
      parts![index].isCalled = true
      return all[index]
    }
  }

  /// Whether a part may still lead to another. A link that has reset the other before its `next` may wait for that, so neither
  /// the link nor what waits for the link stands in the way of the other.
  private static func blocks(_ part: Part, _ other: Part, _ all: [Part], _ order: ChainOrder) -> Bool {
    guard part.isWaiting || part.isCalled || part.holdsNext, order.mayLead(part.id, to: other.id) else { return false }
    if part.isCalled { return true }
    return !all.contains { link in
      link.holdsNext && (link.id == part.id || part.isWaiting && order.mayLead(link.id, to: part.id))
        && hasReached(other.id, from: link, all)
    }
  }

  private static func hasReached(_ id: ObjectIdentifier, from start: Part, _ all: [Part]) -> Bool {
    var (seen, pending) = (start.reached, Array(start.reached))
    while let next = pending.popLast() {
      if next == id { return true }
      for further in all.first(where: { $0.id == next })?.reached ?? [] where seen.insert(further).inserted {
        pending.append(further)
      }
    }
    return false
  }

  private func change(_ id: ObjectIdentifier, _ body: (inout Part) -> Void) {
    parts.withLock { parts in
      if let index = parts?.firstIndex(where: { $0.id == id }) { body(&parts![index]) }
    }
  }
}
