/// Who may pass while a chain is reset, as a value. Pure: takes no lock, calls nobody.
///
/// # Invariants
/// 1. It is closed exactly while `resets` is not empty.
/// 2. No reset begins while a load is between the gate and the loader behind it: that load would come to loaders that have
///    been reset.
/// 3. It opens when every reset has ended and every load that passed it has ended.
struct ResetGate {
  private struct Reset {
    /// What is reset; nil for a loader that cannot be told from others.
    let target: ObjectIdentifier?
    var hasEnded = false
  }

  /// What comes of the wish to reset something.
  enum Arrival: Equatable {
    /// The reset with this number is running, or about to.
    case joins(Int)
    /// A new one, to begin now or when the last load has gone in.
    case isNew(Int, beginsNow: Bool)
  }

  private var resets: [Reset] = []
  private var entering = 0
  private var inFlight = 0

  mutating func resetAsked(of target: ObjectIdentifier?) -> Arrival {
    if let target, let running = resets.firstIndex(where: { $0.target == target }) {
      return .joins(running)
    }
    resets.append(Reset(target: target))
    return .isNew(resets.count - 1, beginsNow: entering == 0)
  }

  /// A load comes. Returns false if it is refused.
  mutating func loadBegins() -> Bool {
    guard resets.isEmpty else { return false }
    entering += 1
    inFlight += 1
    return true
  }

  /// A load that was let in is with the loader behind the gate. Returns whether resets that waited for that begin now.
  mutating func loadEntered() -> Bool {
    entering -= 1
    return entering == 0 && !resets.isEmpty
  }

  /// A load that was let in has ended. Returns whether the gate has opened by that.
  mutating func loadEnded() -> Bool {
    inFlight -= 1
    return opens()
  }

  /// A reset has ended. Returns whether the gate has opened by that.
  mutating func resetEnded(_ number: Int) -> Bool {
    resets[number].hasEnded = true
    return opens()
  }

  private mutating func opens() -> Bool {
    guard !resets.isEmpty, inFlight == 0, resets.allSatisfy(\.hasEnded) else { return false }
    resets = []
    return true
  }
}
