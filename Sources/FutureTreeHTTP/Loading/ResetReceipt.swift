import FutureTree

/// A report of the effects of a reset. See <doc:Resetting#Receipts>.
///
/// ```swift
/// let receipt = try await api.resetWithReceipt().value
/// print(receipt)
/// // reset in 0.2 s: 1 load refused, 1 forced
/// //   ResetGuard    0.2 s  1 load refused
/// //   Autocancel    0.2 s  3 loads drained, 1 forced
/// //   StoreCookies  0 s    wiped 2 cookies
/// //   Transport     0 s
/// ```
public struct ResetReceipt: Sendable {
  /// One layer or loader that was reset.
  public struct Part: Sendable {
    /// The type of the layer or loader.
    public let name: String
    /// The number of loads that were refused during the reset.
    public let refused: Int
    /// The number of loads and transfers that were cancelled and awaited. A load that several parts await is counted by each.
    public let drained: Int
    /// The number of loads and transfers that were forced to complete, because they did not end in time. They are also counted
    /// in `drained`.
    public let forced: Int
    /// The state that was removed, such as `2 cookies`.
    public let wiped: [String]
    /// The time that the steps of this part took, including the wait of a guard for the loads that it had admitted.
    public let duration: Duration
    /// The errors of the steps that failed.
    public let errors: [any Error]
  }

  /// The parts, from the outer end of the chain.
  public let parts: [Part]
  /// The duration of the whole reset.
  public let duration: Duration

  /// The error of the reset, or `nil` if every part was reset.
  public var error: ResetFailed? { ResetFailed(parts.flatMap(\.errors)) }
  /// The number of loads that were refused.
  public var refused: Int { parts.reduce(0) { $0 + $1.refused } }
  /// The number of loads and transfers that were forced to complete.
  public var forced: Int { parts.reduce(0) { $0 + $1.forced } }
  /// The state that was removed.
  public var wiped: [String] { parts.flatMap(\.wiped) }
}

/// The notes of one part of a chain for the receipt of a reset. Each step of the part receives the same notes.
///
/// ```swift
/// func wipe(_ notes: ResetNotes) -> Future<Void> {
///   notes.wiped("\(thumbnails.removeAll()) thumbnails")
///   return .succeeded
/// }
/// ```
///
/// Notes that arrive after the reset has completed are ignored.
///
/// - Note: All members can be used from any thread.
public final class ResetNotes: Sendable {
  private struct State {
    var refused = 0
    var drained = 0
    var forced = 0
    var wiped: [String] = []
    var duration = Duration.zero
    var errors: [any Error] = []
  }

  private let name: String
  private let clock: any FutureClock
  private let state = Locked(State())

  init(_ name: String, _ clock: any FutureClock) {
    self.name = name
    self.clock = clock
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

  /// Adds the time and the error of a step. Returns a future that succeeds after that, or `nil` if the step has completed.
  func measure(_ step: Future<Void>) -> Future<Void>? {
    if let outcome = step.outcomeIfCompleted {
      add(.zero, outcome.resetErrors)
      return nil
    }
    let start = clock.now
    return step.onComplete { [self] outcome in
      add(clock.now - start, outcome.resetErrors)
      return .success
    }
  }

  private func add(_ duration: Duration, _ errors: [any Error]) {
    state.withLock { state in
      state.duration += duration
      state.errors += errors
    }
  }

  var part: ResetReceipt.Part {
    let state = state.value
    return ResetReceipt.Part(
      name: name, refused: state.refused, drained: state.drained, forced: state.forced, wiped: state.wiped,
      duration: state.duration, errors: state.errors)
  }
}

extension ResetReceipt: CustomStringConvertible {
  /// The totals, and a line for each part.
  public var description: String {
    let totals = ResetReceipt.counts((refused, "refused"), (forced, "forced"))
    let first = "reset \(error == nil ? "" : "failed ")in \(duration.rounded)\(totals.isEmpty ? "" : ": \(totals)")"
    let nameWidth = parts.map(\.name.count).max() ?? 0
    let timeWidth = parts.map(\.duration.rounded.count).max() ?? 0
    let lines = parts.map { part in
      let counts = ResetReceipt.counts((part.refused, "refused"), (part.drained, "drained"), (part.forced, "forced"))
      let facts = [counts, part.faultOrWiped].filter { !$0.isEmpty }.joined(separator: "; ")
      let time = part.duration.rounded
      return "  \(part.name.padded(to: nameWidth))  "
        + (facts.isEmpty ? time : "\(time.padded(to: timeWidth))  \(facts)")
    }
    return ([first] + lines).joined(separator: "\n")
  }

  private static func counts(_ counts: (number: Int, verb: String)...) -> String {
    counts.filter { $0.number > 0 }.enumerated().map { index, count in
      let noun = index > 0 ? "" : count.number == 1 ? " load" : " loads"
      return "\(count.number)\(noun) \(count.verb)"
    }.joined(separator: ", ")
  }
}

extension ResetReceipt.Part {
  fileprivate var faultOrWiped: String {
    if !errors.isEmpty { return "failed" }
    return wiped.isEmpty ? "" : "wiped \(wiped.joined(separator: ", "))"
  }
}
