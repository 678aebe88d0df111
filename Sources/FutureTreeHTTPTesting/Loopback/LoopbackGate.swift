import Dispatch
import FutureTree

/// A gate that holds back answers of a loopback server until a test opens it.
///
/// ```swift
/// let gate = LoopbackGate()
/// server.on("/slow", .text("at last").held(by: gate))
/// _ = try await gate.waitForHolders().value    // The request is there, and its answer is held.
/// gate.open()
/// ```
///
/// An open gate stays open: later answers pass without waiting. One gate can hold answers of many connections and servers.
///
/// - Note: All members can be used from any thread.
public final class LoopbackGate: Sendable {
  private struct State {
    var isOpen = false
    var lastID = 0
    var holders: [Int: @Sendable () -> Void] = [:]
    var watchers: [(count: Int, promise: Promise<Void>)] = []

    /// Removes and returns the promises of `waitForHolders` that are satisfied. When the gate is open, all are.
    mutating func takeWatchers() -> [Promise<Void>] {
      let satisfied = watchers.filter { isOpen || $0.count <= holders.count }
      watchers.removeAll { isOpen || $0.count <= holders.count }
      return satisfied.map(\.promise)
    }
  }

  private let state = Locked(State())

  /// Creates a closed gate.
  public init() {}

  /// Whether the gate has been opened.
  public var isOpen: Bool { state.withLock { $0.isOpen } }

  /// The number of answers that the gate holds back now.
  public var holderCount: Int { state.withLock { $0.holders.count } }

  /// Releases every answer that the gate holds back, and lets every later answer pass.
  ///
  /// Calls after the first have no effect.
  public func open() {
    let (holders, watchers) = state.withLock { state in
      state.isOpen = true
      defer { state.holders = [:] }
      return (state.holders, state.takeWatchers())
    }
    for (_, pass) in holders.sorted(by: { $0.key < $1.key }) { pass() }
    Self.complete(watchers)
  }

  /// Returns a future that completes as soon as the gate holds back `count` answers or is open.
  public func waitForHolders(_ count: Int = 1) -> Future<Void> {
    let promise = Promise<Void>()
    let watchers = state.withLock { state in
      state.watchers.append((count, promise))
      return state.takeWatchers()
    }
    Self.complete(watchers)
    return promise.future
  }

  /// Completes the promises on a separate queue: the caller is a server's queue, and a consumer may block.
  private static func complete(_ watchers: [Promise<Void>]) {
    guard !watchers.isEmpty else { return }
    DispatchQueue(label: "FutureTreeHTTPTesting.LoopbackGate").async {
      for promise in watchers { promise.succeed(()) }
    }
  }

  /// Calls `pass` when the gate is open, or at once if it is open now.
  ///
  /// - Returns: The ID to pass to `leave`, or `nil` if the gate was open.
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
    _ = holder  // Released outside the lock.
  }
}
