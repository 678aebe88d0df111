import FutureTree

/// The notes of one layer or loader for the receipt of a reset.
///
/// ```swift
/// func reset(next: any HTTPLoader) -> Future<Void> {
///   let count = thumbnails.removeAll()
///   ResetNotes.current?.wiped("\(count) thumbnails")
///   return next.reset()
/// }
/// ```
///
/// Read `current` before `reset` returns, and keep it for facts that are known later. Notes that arrive after the reset has
/// completed are ignored.
///
/// - Note: All members can be used from any thread.
public final class ResetNotes: Sendable {
  private struct State {
    var refused = 0
    var drained = 0
    var forced = 0
    var wiped: [String] = []
    var end: (ending: Ending, time: Duration)?
  }

  @TaskLocal static var ofCaller: ResetNotes?

  /// The notes of the layer or loader whose `reset` runs on this thread. `nil` if the reset has no receipt.
  public static var current: ResetNotes? { ofCaller }

  private let name: String
  private let start: Duration
  private let state = Locked(State())

  init(_ name: String, start: Duration) {
    self.name = name
    self.start = start
  }

  /// Adds loads that were refused.
  public func refused(_ count: Int) {
    state.withLock { $0.refused += count }
  }

  /// Adds loads or transfers that are cancelled and awaited.
  public func drained(_ count: Int) {
    state.withLock { $0.drained += count }
  }

  /// Adds loads or transfers that were forced to complete. Count them in `drained(_:)` as well.
  public func forced(_ count: Int) {
    state.withLock { $0.forced += count }
  }

  /// Adds a description of removed state. It must not contain secrets.
  public func wiped(_ state: String) {
    self.state.withLock { $0.wiped.append(state) }
  }

  /// Adds a number of removed items, such as `2 cookies`. Zero items are not added.
  package func wiped(_ count: Int, _ noun: String, plural: String? = nil) {
    guard count > 0 else { return }
    wiped("\(count) \(count == 1 ? noun : plural ?? noun + "s")")
  }

  func ended(_ ending: Ending, at time: Duration) {
    state.withLock { $0.end = (ending, time) }
  }

  func part(at now: Duration) -> ResetReceipt.Part {
    let state = state.value
    return ResetReceipt.Part(
      name: name, refused: state.refused, drained: state.drained, forced: state.forced, wiped: state.wiped,
      duration: (state.end?.time ?? now) - start, ending: state.end?.ending)
  }
}

/// Collects the notes of one reset. It follows the reset from each layer to the next loader, also if the layer resets that
/// loader later, on another thread.
final class ResetReport: Sendable {
  /// The report of the reset that runs on this thread.
  @TaskLocal static var current: ResetReport?

  private let clock: any FutureClock
  private let start: Duration
  private let parts = Locked<[ResetNotes]>([])

  init(_ clock: any FutureClock) {
    self.clock = clock
    start = clock.now
  }

  /// Resets a loader. A link of a chain adds its own notes.
  func reset(_ loader: any HTTPLoader) -> Future<Void> {
    guard !(loader is LayeredLoader), !(loader is LoaderObject) else {
      return ResetReport.$current.withValue(self) { loader.reset() }
    }
    return note("\(type(of: loader))") {
      ResetReport.$current.withValue(self) { loader.reset() }
    }
  }

  /// Resets a layer.
  func reset(_ layer: any HTTPLayer, next: any HTTPLoader) -> Future<Void> {
    note("\(type(of: layer))") {
      let next = LoaderObject(next, identity: LoaderObject.representedIdentity(of: next)) { self.reset(next) }
      return ResetReport.$current.withValue(self) { layer.reset(next: next) }
    }
  }

  func receipt(_ outcome: Outcome<Void>) -> ResetReceipt {
    let now = clock.now
    let error: (any Error)? =
      switch outcome {
      case .success: nil
      case .failure(let error): error
      case .cancelled(let reason): FutureCancelled(reason: reason)
      }
    return ResetReceipt(parts: parts.value.map { $0.part(at: now) }, duration: now - start, error: error)
  }

  private func note(_ name: String, _ reset: () -> Future<Void>) -> Future<Void> {
    let notes = ResetNotes(name, start: clock.now)
    parts.withLock { $0.append(notes) }
    let future = ResetNotes.$ofCaller.withValue(notes) { reset() }
    future.observe { [clock] outcome in notes.ended(outcome.ending, at: clock.now) }
    return future
  }
}
