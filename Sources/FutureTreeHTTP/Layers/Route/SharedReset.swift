import FutureTree

/// One reset of several chains that may share parts: each part is reset once, when every chain has got to it.
final class SharedReset: Sendable {
  /// A loader to which more than one chain leads.
  private struct Meeting {
    /// The chains that have not got there.
    var missing: Set<Int>
    let promise = Promise<Void>()
  }

  /// The loaders to which each chain leads. They are kept here so that their identities stay theirs.
  private let reached: [[any HTTPLoader]]
  /// The chains that lead to each loader.
  private let users: [ObjectIdentifier: Set<Int>]
  private let meetings: Locked<[ObjectIdentifier: Meeting]>
  /// The reset that this one is a part of. What others of its chains lead to as well is its to reset.
  private let outer: Behind?

  /// Resets the chains that `makeChains` makes of a loader, which several of them may end with.
  static func run(before next: any HTTPLoader, _ makeChains: (any HTTPLoader) -> [any HTTPLoader]) -> Future<Void> {
    let outer = next as? Behind
    let chains = makeChains(identified(outer?.loader ?? next))
    return SharedReset(chains, outer).run(chains)
  }

  private init(_ chains: [any HTTPLoader], _ outer: Behind?) {
    let reached = chains.map { SharedReset.reached(from: $0) }
    var users: [ObjectIdentifier: Set<Int>] = [:]
    for (number, loaders) in reached.enumerated() {
      for id in loaders.compactMap({ identity(of: $0) }) { users[id, default: []].insert(number) }
    }
    self.reached = reached
    self.users = users
    self.outer = outer
    meetings = Locked(users.filter { $0.value.count > 1 }.mapValues { Meeting(missing: $0) })
  }

  private func run(_ chains: [any HTTPLoader]) -> Future<Void> {
    let shared = meetings.withLock { $0.values.map(\.promise.future) }
    let heads = chains.enumerated().map { number, head in
      let reset = reset(head, for: [number])
      // A layer that does not reset what comes behind it keeps nobody waiting.
      reset.observe { _ in self.hasGone(number) }
      return reset
    }
    return .resets(heads + shared)
  }

  /// Resets a loader in the name of some chains, or waits for the others at one that is shared.
  fileprivate func reset(_ loader: any HTTPLoader, for chains: Set<Int>) -> Future<Void> {
    guard let id = identity(of: loader), users[id, default: []].count > 1 else {
      return resetNow(loader, for: chains)
    }
    arrive(chains, at: id, loader)
    // What it fails with is told once, by the meeting itself.
    let future = meetings.withLock { $0[id]!.promise.future }
    return future.onComplete { _ in .succeeded }
  }

  private func resetNow(_ loader: any HTTPLoader, for chains: Set<Int>) -> Future<Void> {
    if let outer, let id = identity(of: loader), outer.shared.hasMeeting(at: id) {
      return outer.shared.reset(loader, for: outer.chains)
    }
    guard let link = loader as? LayeredLoader else { return loader.reset() }
    return link.layer.reset(next: Behind(loader: link.next, chains: chains, shared: self))
  }

  private func arrive(_ chains: Set<Int>, at id: ObjectIdentifier, _ loader: any HTTPLoader) {
    let promise: Promise<Void>? = meetings.withLock { meetings in
      guard !meetings[id]!.missing.isEmpty else { return nil }
      meetings[id]!.missing.subtract(chains)
      return meetings[id]!.missing.isEmpty ? meetings[id]!.promise : nil
    }
    promise?.complete(.completeUsing(resetNow(loader, for: users[id]!)))
  }

  /// A chain has ended, and does not get anywhere any more.
  private func hasGone(_ number: Int) {
    for loader in reached[number] {
      guard let id = identity(of: loader), users[id, default: []].count > 1 else { continue }
      arrive([number], at: id, loader)
    }
  }

  private func hasMeeting(at id: ObjectIdentifier) -> Bool {
    users[id, default: []].count > 1 || outer?.shared.hasMeeting(at: id) == true
  }

  /// The loaders to which a chain leads, through the branches of its routes as well.
  private static func reached(from head: any HTTPLoader) -> [any HTTPLoader] {
    var (found, seen, rest) = ([any HTTPLoader](), Set<ObjectIdentifier>(), [head])
    while let loader = rest.popLast() {
      if let id = identity(of: loader), !seen.insert(id).inserted { continue }
      found.append(loader)
      guard let link = loader as? LayeredLoader else { continue }
      rest.append(link.next)
      if let route = link.layer as? Route { rest += route.ways(before: link.next) }
    }
    return found
  }
}

/// What a layer gets as `next` while it is reset: its reset is one of several.
private struct Behind: HTTPLoader {
  let loader: any HTTPLoader
  let chains: Set<Int>
  let shared: SharedReset

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> { loader.load(request) }

  func reset() -> Future<Void> { shared.reset(loader, for: chains) }
}
