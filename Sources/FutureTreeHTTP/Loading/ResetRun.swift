import FutureTree

/// One reset of several chains that may share loaders. Each loader is reset once, when no chain can lead to it anymore.
///
/// A link *passes the reset on* when its layer resets `next` or completes its reset. Until then, every loader to which
/// the link may lead (`ChainOrder`) waits for the link. A loader that the layer resets before `next` is an exception,
/// because the layer may wait for that loader. The latest loader in the order waits for no other loader, so a run cannot
/// deadlock.
///
/// The run is passed down in two ways. It is passed with the `next` of a layer, which the layer can use at any time. It
/// is also passed as a task-local value, for a user's loader that resets another loader before it returns.
final class ResetRun: Sendable {
  /// A loader that the run has reached.
  private struct Part {
    let id: ObjectIdentifier
    let loader: any HTTPLoader
    let promise = Promise<Void>()
    var isWaiting = true
    /// Whether it is being called; it may reset other loaders before it returns.
    var isCalled = false
    /// Whether it is a link that has not reset its `next`.
    var holdsNext = false
    /// Its layer, if that is an object.
    var layer: ObjectIdentifier?
    /// The loaders that it has reset.
    var reached: Set<ObjectIdentifier> = []
  }

  /// The part that is being called on this thread or task.
  @TaskLocal private static var caller: (run: ResetRun, part: ObjectIdentifier)?

  /// The parts in the order of their arrival. `nil` after the run has ended: later resets are not part of the run.
  private let parts = Locked<[Part]?>([])
  /// The receipt to which the parts report.
  private let report = ResetReport.current

  /// Resets loaders in the run of the caller, or in a new run.
  static func reset(_ loaders: [any HTTPLoader]) -> Future<Void> {
    if let (run, part) = caller, let joined = run.join(loaders, from: part) { return .resets(joined) }
    let run = ResetRun()
    return Future.resets(run.join(loaders, from: nil) ?? [])
      .ensure { run.end() }
      .shielded()
  }

  /// Resets a link in the run of the caller. Returns `nil` if there is no such run.
  static func reset(_ link: LayeredLoader) -> Future<Void>? {
    guard let (run, part) = caller else { return nil }
    guard part == ObjectIdentifier(link) else { return run.join([link], from: part)?[0] }
    run.hold(part, identity(of: link.layer))
    let next = link.next
    return link.resetLayer(next: LoaderObject(next) { run.join([next], from: part, isNext: true)?[0] ?? next.reset() })
  }

  /// Marks a link as called. If its layer is an object that already holds another link, the layer may join that reset and
  /// never reset this link's `next`.
  private func hold(_ link: ObjectIdentifier, _ layer: ObjectIdentifier?) {
    parts.withLock { parts in
      guard let all = parts, let index = all.firstIndex(where: { $0.id == link }) else { return }
      parts![index].layer = layer
      parts![index].holdsNext = layer == nil || !all.contains { $0.holdsNext && $0.layer == layer }
    }
  }

  /// Ends the run after the first loaders have been reset. Parts that still wait are reset now: other callers may have
  /// joined them, and no part of the run awaits them.
  private func end() {
    for part in parts.withLock({ $0.take() }) ?? [] where part.isWaiting {
      part.promise.complete(.completeUsing(part.loader.reset()))
    }
  }

  /// Adds loaders to the run. Returns `nil` if the run has ended.
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
    // If the caller is being called, the loop in `advance` continues after the caller has returned.
    if !isCalled { advance() }
    // The failure of a part is reported once, to the first that reset it.
    return joined?.map { $0.isFirst ? $0.promise.future.forwarded() : $0.promise.future.onComplete { _ in .success } }
  }

  /// Resets every part to which no other part can lead anymore.
  private func advance() {
    while let part = beginNext() {
      let reset = ResetRun.$caller.withValue((self, part.id)) { report?.reset(part.loader) ?? part.loader.reset() }
      change(part.id) { $0.isCalled = false }
      reset.observe { outcome in
        self.change(part.id) { $0.holdsNext = false }
        part.promise.complete(with: outcome)
        self.advance()
      }
    }
  }

  private func beginNext() -> Part? {
    let order = ChainOrder.current.value  // Read for each part: the part before may have created links.
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

  /// Returns whether a part may still lead to another part. A link that has reset the other part before its `next` may
  /// wait for it. In that case neither the link nor the parts that wait for the link block the other part.
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
