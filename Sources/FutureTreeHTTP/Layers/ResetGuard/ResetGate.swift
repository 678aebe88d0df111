/// Who may pass while a chain is reset, as a value. Pure: takes no lock, calls nobody.
///
/// # Invariants
/// 1. It is closed exactly while `resets` is not empty.
/// 2. No reset begins while a load is between the gate and the loader behind it: that load would come to loaders that have
///    been reset.
/// 3. A reset is over when it has ended and every load that passed the gate has ended. It opens when all are over.
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

  private var resets: [Int: Reset] = [:]
  private var nextNumber = 0
  private var entering = 0
  private var inFlight = 0

  var isOpen: Bool { resets.isEmpty }

  mutating func resetAsked(of target: ObjectIdentifier?) -> Arrival {
    if let target, let running = resets.first(where: { $0.value.target == target }) {
      return .joins(running.key)
    }
    defer { nextNumber += 1 }
    resets[nextNumber] = Reset(target: target)
    return .isNew(nextNumber, beginsNow: entering == 0)
  }

  /// A load comes. Returns false if it is refused.
  mutating func loadBegins() -> Bool {
    guard isOpen else { return false }
    entering += 1
    inFlight += 1
    return true
  }

  /// A load that was let in is with the loader behind the gate. Returns whether resets that waited for that begin now.
  mutating func loadEntered() -> Bool {
    entering -= 1
    return entering == 0 && !isOpen
  }

  /// A load that was let in has ended. Returns the resets that are over by that.
  mutating func loadEnded() -> [Int] {
    inFlight -= 1
    return over()
  }

  /// A reset has ended. Returns the resets that are over by that: none while loads are under way.
  mutating func resetEnded(_ number: Int) -> [Int] {
    resets[number]!.hasEnded = true
    return over()
  }

  /// A reset that waits for another one of this gate, as one inside it does, must not keep that one from being over.
  private mutating func over() -> [Int] {
    guard inFlight == 0 else { return [] }
    let over = resets.filter(\.value.hasEnded).keys.sorted()
    for number in over { resets[number] = nil }
    return over
  }
}
