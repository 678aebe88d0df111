/// The state that decides which loads may pass while a chain is reset. Pure: takes no lock, calls no closure.
///
/// # Invariants
/// 1. The gate is closed exactly while `resets` is not empty.
/// 2. No reset begins while a load is between the gate and the loader after it. Otherwise that load would reach loaders
///    that have been reset.
/// 3. A reset is over when its future and every load that passed the gate have completed. The gate opens when all resets
///    are over.
struct ResetGate {
  private struct Reset {
    /// The loader to reset. `nil` for a loader without an identity.
    let target: ObjectIdentifier?
    var hasEnded = false
  }

  /// The result of a request to reset a loader.
  enum Arrival: Equatable {
    /// Joins the reset with this number, which is running or about to begin.
    case joins(Int)
    /// A new reset, which begins now or when the last entering load has reached the next loader.
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

  /// Registers a load that begins. Returns `false` if it is refused.
  mutating func loadBegins() -> Bool {
    guard isOpen else { return false }
    undoBegins()
    return true
  }

  /// Registers a load of an undo for which a reset waits. It passes the closed gate.
  mutating func undoBegins() {
    entering += 1
    inFlight += 1
  }

  /// Registers that a load has reached the loader after the gate. Returns whether waiting resets begin now.
  mutating func loadEntered() -> Bool {
    entering -= 1
    return entering == 0 && !isOpen
  }

  /// Registers that a load has ended. Returns the resets that are over as a result.
  mutating func loadEnded() -> [Int] {
    inFlight -= 1
    return over()
  }

  /// Registers that a reset has ended. Returns the resets that are over as a result, or none while loads are in flight.
  mutating func resetEnded(_ number: Int) -> [Int] {
    resets[number]!.hasEnded = true
    return over()
  }

  /// Removes the resets that are over. A reset may wait for another reset of this gate, for example one inside it, so
  /// each is over by itself.
  private mutating func over() -> [Int] {
    guard inFlight == 0 else { return [] }
    let over = resets.filter(\.value.hasEnded).keys.sorted()
    for number in over { resets[number] = nil }
    return over
  }
}
