import TestSupport
import Testing

@testable import FutureTree

@Suite("Linked cancellation tokens")
struct LinkedTokenTests {
  private let log = Recorder()
  private let first = CancellationTokenSource()
  private let second = CancellationTokenSource()

  @Test("Cancelling one parent cancels its children with its reason")
  func parent() {
    let child = CancellationTokenSource(linkedTo: [first.token, second.token])
    child.token.register { [log] reason in log(reason.message) }

    second.cancel(reason: "the second")
    first.cancel(reason: "the first")

    expectEqual(log.entries, ["the second"])
    expectEqual(child.token.reason?.message, "the second")
  }

  @Test("Cancelling a child does not cancel its parents")
  func child() {
    let child = CancellationTokenSource(linkedTo: [first.token])

    child.cancel(reason: "own")
    first.cancel(reason: "late")

    expectEqual(child.token.reason?.message, "own")
    expectEqual(first.token.reason?.message, "late")
  }

  @Test("A source linked to a cancelled token is cancelled and links no other token")
  func cancelledBefore() {
    second.cancel(reason: "before")

    let child = CancellationTokenSource(linkedTo: [first.token, second.token, .never])

    expectEqual(child.token.reason?.message, "before")
    expectEqual(linked(to: first), 0)
  }

  @Test("A source linked to no token or to `never` is not cancelled")
  func nothing() {
    #expect(!CancellationTokenSource(linkedTo: []).isCancelling)
    #expect(!CancellationTokenSource(linkedTo: [.never]).isCancelling)
  }

  @Test("All linked sources are cancelled before the first body runs, and bodies of parents run first")
  func propagation() {
    let child = CancellationTokenSource(linkedTo: [first.token])
    let grandchild = CancellationTokenSource(linkedTo: [child.token])
    grandchild.token.register { [log] _ in log("grandchild") }
    child.token.register { [log] _ in log("child") }
    first.token.register { [log] _ in log("first, \(child.isCancelling), \(grandchild.isCancelling)") }

    first.cancel()

    expectEqual(log.entries, ["first, true, true", "child", "grandchild"])
  }

  @Test("The bottom of a diamond is cancelled once")
  func diamond() {
    let left = CancellationTokenSource(linkedTo: [first.token])
    let right = CancellationTokenSource(linkedTo: [first.token])
    let bottom = CancellationTokenSource(linkedTo: [left.token, right.token, first.token])
    bottom.token.register { [log] reason in log(reason.message) }

    first.cancel(reason: "top")

    expectEqual(log.entries, ["top"])
  }

  @Test("A body that cancels an already cancelled child has no effect")
  func cancelsChild() {
    let child = CancellationTokenSource(linkedTo: [first.token])
    child.token.register { [log] reason in log(reason.message) }
    first.token.register { [log] _ in log("\(child.cancel(reason: "by hand"))") }

    first.cancel(reason: "top")

    expectEqual(log.entries, ["false", "top"])
  }

  @Test("A cancelled child unlinks from all its parents")
  func unlinksCancelled() {
    let child = CancellationTokenSource(linkedTo: [first.token, second.token])
    expectEqual(linked(to: first), 1)

    first.cancel()

    expectEqual(linked(to: second), 0)
    withExtendedLifetime(child) {}
  }

  @Test("A dropped child unlinks from its parents")
  func unlinksDropped() {
    weak var state: CancellationTokenState?
    do {
      let child = CancellationTokenSource(linkedTo: [first.token, second.token])
      state = child.token.source?.state
      expectEqual(linked(to: first), 1)
      withExtendedLifetime(child) {}
    }

    expectEqual(linked(to: first), 0)
    expectEqual(linked(to: second), 0)
    #expect(state == nil)
  }

  @Test("A body registered with a dropped child is called or removed")
  func registeredAndDropped() {
    func register(_ line: String) -> CancellationRegistration {
      CancellationTokenSource(linkedTo: [first.token]).token.register { [log] _ in log(line) }
    }
    _ = register("kept")
    let ended = register("ended")
    expectEqual(linked(to: first), 2)

    ended.remove()
    expectEqual(linked(to: first), 1)
    first.cancel()

    expectEqual(log.entries, ["kept"])
  }

  @Test("A dropped source in the middle forwards the cancellation and is released with its child")
  func middle() {
    let child = Locked<CancellationTokenSource?>(
      CancellationTokenSource(linkedTo: [CancellationTokenSource(linkedTo: [first.token]).token]))
    expectEqual(linked(to: first), 1)

    child.value = nil
    expectEqual(linked(to: first), 0)

    let other = CancellationTokenSource(linkedTo: [CancellationTokenSource(linkedTo: [first.token]).token])
    first.cancel()
    #expect(other.isCancelling)
  }

  @Test("Registered bodies are released when the root source is dropped")
  func rootDropped() {
    let census = Census()
    let root = Locked<CancellationTokenSource?>(CancellationTokenSource())
    func register(_ probe: Probe) {
      guard let token = root.value?.token else { return }
      CancellationTokenSource(linkedTo: [token]).token.register { _ in probe.touch() }
    }
    register(census.probe())
    expectEqual(census.alive, 1)

    root.value = nil

    expectEqual(census.alive, 0)
  }

  @Test("100,000 dropped children leave nothing in their parent")
  func flat() {
    for _ in 0..<100_000 { _ = CancellationTokenSource(linkedTo: [first.token, second.token]).isCancelling }

    expectEqual(linked(to: first), 0)
    expectEqual(linked(to: second), 0)
  }

  private func linked(to source: CancellationTokenSource) -> Int {
    source.token.source?.state.listedCount ?? 0
  }
}

@Suite("Linked cancellation tokens: any depth", .timeLimit(.minutes(20)))
struct LinkedTokenDepthTests {
  /// A depth that a recursion could not reach on a stack of 512 KiB.
  static let depth = 100_000

  /// Returns the last of a chain of linked sources. The test retains none of the sources in the middle.
  private static func chain(from root: CancellationTokenSource) -> CancellationTokenSource {
    var last = root
    for _ in 0..<depth { last = CancellationTokenSource(linkedTo: [last.token]) }
    return last
  }

  @Test("A chain is cancelled in constant stack space")
  func cancelled() {
    let log = Recorder()
    onSmallStack {
      let root = CancellationTokenSource()
      let last = Self.chain(from: root)
      last.token.register { reason in log(reason.message) }

      root.cancel(reason: "from the root")
    }
    expectEqual(log.entries, ["from the root"])
  }

  @Test("A chain is released from its end in constant stack space")
  func releasedFromEnd() {
    let log = Recorder()
    onSmallStack {
      let root = CancellationTokenSource()
      var last: CancellationTokenSource? = Self.chain(from: root)
      weak let state = last?.token.source?.state

      last = nil

      log("\(state == nil), \(root.token.source?.state.listedCount ?? -1)")
    }
    expectEqual(log.entries, ["true, 0"])
  }

  @Test("A chain is released from its root with the registered bodies")
  func releasedFromRoot() {
    let census = Census()
    onSmallStack {
      @Sendable func register(_ probe: Probe, with token: CancellationToken) { token.register { _ in probe.touch() } }
      var root: CancellationTokenSource? = CancellationTokenSource()
      if let root { register(census.probe(), with: Self.chain(from: root).token) }

      root = nil
    }
    expectEqual(census.alive, 0)
  }
}
