import Dispatch
import FutureTree

/// Holds answers back until a test opens it.
///
/// ```swift
/// let gate = LoopbackGate()
/// server.on("/slow", .text("at last").held(by: gate))
/// _ = try await gate.waitForHolders().value    // The request is there, and its answer is held.
/// gate.open()
/// ```
///
/// Once open it stays open: answers that come to it later pass. One gate can hold answers of many connections and servers.
///
/// - Note: Callable from any thread.
public final class LoopbackGate: Sendable {
  private struct State {
    var isOpen = false
    var lastID = 0
    var holders: [Int: @Sendable () -> Void] = [:]
    var watchers: [(count: Int, promise: Promise<Void>)] = []

    /// Takes out those who wait for as many holders as there are; all once the gate is open.
    mutating func takeWatchers() -> [Promise<Void>] {
      let satisfied = watchers.filter { isOpen || $0.count <= holders.count }
      watchers.removeAll { isOpen || $0.count <= holders.count }
      return satisfied.map(\.promise)
    }
  }

  private let state = Locked(State())

  /// A gate that is shut.
  public init() {}

  /// Whether the gate was opened.
  public var isOpen: Bool { state.withLock { $0.isOpen } }

  /// How many answers the gate holds back now.
  public var holderCount: Int { state.withLock { $0.holders.count } }

  /// Lets every answer go on that waits here, and every one that comes later. Opening it again changes nothing.
  public func open() {
    let (holders, watchers) = state.withLock { state in
      state.isOpen = true
      defer { state.holders = [:] }
      return (state.holders, state.takeWatchers())
    }
    for (_, pass) in holders.sorted(by: { $0.key < $1.key }) { pass() }
    Self.complete(watchers)
  }

  /// Returns a future that completes as soon as the gate holds back this many answers, or is open.
  public func waitForHolders(_ count: Int = 1) -> Future<Void> {
    let promise = Promise<Void>()
    let watchers = state.withLock { state in
      state.watchers.append((count, promise))
      return state.takeWatchers()
    }
    Self.complete(watchers)
    return promise.future
  }

  /// Completes on a queue of its own: who comes to the gate is a server, and a consumer may block.
  private static func complete(_ watchers: [Promise<Void>]) {
    guard !watchers.isEmpty else { return }
    DispatchQueue(label: "FutureTreeHTTPTesting.LoopbackGate").async {
      for promise in watchers { promise.succeed(()) }
    }
  }

  /// Calls `pass` when the gate is open, at once if it is open now.
  ///
  /// - Returns: What `leave` takes; nil if the gate was open.
  func enter(_ pass: @escaping @Sendable () -> Void) -> Int? {
    let (id, watchers) = state.withLock { state -> (Int?, [Promise<Void>]) in
      guard !state.isOpen else { return (nil, []) }
      state.lastID += 1
      state.holders[state.lastID] = pass
      return (state.lastID, state.takeWatchers())
    }
    if id == nil { pass() }
    Self.complete(watchers)
    return id
  }

  func leave(_ id: Int) {
    let holder = state.withLock { $0.holders.removeValue(forKey: id) }
    _ = holder  // Released unlocked.
  }
}
