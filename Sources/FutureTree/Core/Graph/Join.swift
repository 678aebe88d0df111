/// A future that waits for several others at once, or for one after another.
///
/// A join has slots. Each is in the list of the input that it waits for now. A slot retains its join, so the join lives as long
/// as one input is pending. The join retains its slots until it has ended, which breaks the cycle.
@usableFromInline
class Join: Node, @unchecked Sendable {  // Because: `slots` and `openSlots` are guarded like `upstream`.
  @exclusivity(unchecked) private final var slots: [Slot] = []
  /// The number of slots that wait for an input, or whose input has ended and that are about to decide.
  @exclusivity(unchecked) private final var openSlots = 0

  /// The entry of a join in the list of one input.
  @usableFromInline
  final class Slot: Waiter, @unchecked Sendable {  // Because: the join's lock guards the rest.
    @usableFromInline let join: Join
    @usableFromInline let index: Int
    /// Set while the slot is in the list of a pending input. Unretained, like `Node.upstream`.
    @exclusivity(unchecked) fileprivate var input: Unmanaged<Node>?
    /// The number of inputs of this slot that have ended. `wait` compares it to detect that an input ended while `wait` ran.
    @exclusivity(unchecked) fileprivate var endedInputs = 0

    fileprivate init(join: Join, index: Int, step: @escaping Step) {
      self.join = join
      self.index = index
      super.init(step: step)
    }

    override var owner: Node? { join }

    /// The number of inputs of this slot that have ended.
    @usableFromInline var endedInputCount: Int { join.lock.withLock { endedInputs } }
  }

  @usableFromInline init(createdBy: Operator, step: StoredStep) {
    super.init(createdBy: createdBy, step: step)
  }

  override final var waitsFor: TinyArray<Link> {
    var links = TinyArray<Link>()
    links.reserveCapacity(slots.count)
    eachInput { links.append(Link(node: $0.takeUnretainedValue(), entry: $1.takeUnretainedValue())) }
    return links
  }

  override final var inputsToLeave: LeftInputs {
    let left = LeftInputs(capacity: slots.count, slots: slots)
    eachInput { left.append($0, .fromOpaque($1.toOpaque())) }
    return left
  }

  /// Adds a signal for each input to the queue. Called under the lock.
  final func send(
    _ request: CancelRequest.Unretained?, _ departure: Signal.Departure, predecessor: Int?, in queue: SignalQueue
  ) {
    queue.retain(slots)
    queue.reserve(slots.count)
    eachInput { input, slot in
      queue.append(
        toRetained: input.retain(), request, from: .fromOpaque(slot.toOpaque()), departure, predecessor: predecessor)
    }
  }

  /// Calls a closure for each slot that waits. Called under the lock.
  @inline(__always)
  private final func eachInput(_ body: (_ input: Unmanaged<Node>, _ slot: Unmanaged<Slot>) -> Void) {
    slots.eachUnretained { slot in
      if let input = slot._withUnsafeGuaranteedRef({ $0.input }) { body(input, slot) }
    }
  }

  override final var hasManyInputs: Bool { slots.count > 16 }

  override final func forgetInputs() {
    for slot in slots { slot.input = nil }
  }

  /// The number of slots, for tests.
  final var slotCount: Int { lock.withLock { slots.count } }

  /// The strongest request that this future has received. After it, no further work begins. Law 11 (bodies that have not
  /// begun).
  @usableFromInline final var request: CancelRequest? { lock.withLock { state.requests.asked } }

  /// Creates the slots. Called once, before other code can access the join.
  @usableFromInline final func makeSlots(_ count: Int, step: @escaping Step) -> [Slot] {
    let slots = [Slot](unsafeUninitializedCapacity: count) { buffer, initialized in
      for index in 0..<count { buffer.initializeElement(at: index, to: Slot(join: self, index: index, step: step)) }
      initialized = count
    }
    lock.withLock {
      self.slots = slots
      openSlots = count
    }
    return slots
  }

  /// Makes a new slot wait for an input without interest in it. Law 22 (ordering is not interest).
  ///
  /// Slots whose input has ended are removed from time to time. Law 21 (bounded memory).
  ///
  /// - Parameter step: Closes the slot when the input has ended.
  final func order(after input: Node, step: @escaping Step) {
    let slot = Slot(join: self, index: 0, step: step)
    lock.release { () -> [Slot] in
      guard state.isPending else { return [] }
      defer { slots.append(slot) }
      openSlots += 1
      guard slots.count >= 2 * openSlots + 8 else { return [] }
      let ended = slots
      slots = slots.filter { $0.endedInputs == 0 }
      return ended
    }
    wait(in: slot, for: input, after: 0, isWanted: false)
  }

  /// Makes a slot that is in no list wait for an input.
  @usableFromInline final func wait(in slot: Slot, for input: Node) {
    let (endedInputs, isWanted) = lock.withLock { (slot.endedInputs, !state.isAbandoned) }
    wait(in: slot, for: input, after: endedInputs, isWanted: isWanted)
  }

  /// Makes a slot wait for an input. The caller knows how many inputs of the slot have ended, and whether this join has interest.
  @inline(__always)
  final func wait(in slot: Slot, for input: Node, after endedInputs: Int, isWanted: Bool) {
    // The entry is listed first, then `slot.input` is set: code that sees the input relies on the entry in the list.
    guard input.attach(slot, isConsumer: isWanted) else {
      if input.state.isWatched { input.reportNow(.hasWaiter(slot)) }
      return Trampoline.turn(of: slot, upstream: input, .upstreamEnded)
    }
    let isSet = lock.withLock {
      guard isWanted, state.forwardsNothing, slot.endedInputs == endedInputs else { return false }
      slot.input = Unmanaged.passUnretained(input)
      return true
    }
    if !isSet { finishWaiting(in: slot, for: input, after: endedInputs, isWanted: isWanted) }
  }

  /// Completes `wait` if it needs more than to set the input. The slot is already in the list of the input.
  @inline(never)
  private final func finishWaiting(in slot: Slot, for input: Node, after endedInputs: Int, isWanted: Bool) {
    var report: NodeMonitor.Report?
    let signal: Signal? = lock.withLock {
      report = self.report(.waits(for: input))
      guard state.isPending else {
        // The join ended meanwhile. The future that a running body returned receives the request without the force. Law 5
        // (force).
        let request =
          state.requests.furthest.map(\.forwarded)
          ?? CancelRequest(options: .doNotForwardIfOthersWaiting, reason: decidedReason)
        return Signal(node: input, request: request, sender: slot, departure: .leaves)
      }
      if slot.endedInputs == endedInputs { slot.input = Unmanaged.passUnretained(input) }
      return firstSignal(at: input, from: slot, request: state.requests.furthest?.forwarded)
    }
    report?()
    if let signal { CancellationPropagation.run(signal) }
    if !isWanted { notifyOfInterest() }
  }

  /// Records that the input of a slot has ended.
  ///
  /// - Parameter closes: Whether the slot waits for no further input and decides nothing.
  /// - Returns: Whether the join is pending, and whether no slot is open.
  final func inputEnded(of slot: Slot, closes: Bool) -> (isPending: Bool, allClosed: Bool) {
    lock.withLock {
      slot.input = nil
      slot.endedInputs += 1
      if closes { openSlots -= 1 }
      return (state.isPending, openSlots == 0)
    }
  }

  /// Records the end of an input whose slot may decide. Calls `body` under the lock if the join is pending.
  @usableFromInline final func inputEnded(of slot: Slot, ifPending body: () -> Void) {
    lock.withLock {
      slot.input = nil
      slot.endedInputs += 1
      if state.isPending { body() }
    }
  }

  /// Closes a slot whose input has ended, and which decides nothing. Returns whether no slot is open. Then every input has
  /// ended, and no other thread is about to decide.
  @usableFromInline final func closeSlot() -> Bool {
    lock.withLock {
      openSlots -= 1
      return openSlots == 0
    }
  }

  /// Ends with a value that `store` writes under the lock, and detaches from the remaining inputs.
  @usableFromInline final func decide(storingValue store: (inout ValueStorage) -> Void) -> Bool {
    decide(because: decidedReason) {
      guard end(.succeeded, store: store) else { return false }
      ownsValue = true
      return true
    }
  }

  /// Ends with an error, and detaches from the remaining inputs.
  @usableFromInline final func decide(failing error: any Error) -> Bool {
    decide(because: decidedReason) { endLocked(failing: error) }
  }

  /// Ends as `.cancelled`, and detaches from the remaining inputs.
  @usableFromInline final func decide(cancelled reason: CancellationReason) -> Bool {
    decide(because: decidedReason) { endLocked(cancelled: reason) }
  }

  /// The reason for the request to the remaining inputs when a join is decided.
  final var decidedReason: CancellationReason {
    "`\(state.createdBy.name)` completed without this future"
  }

  /// Calls `body` under the lock.
  @usableFromInline final func locked(_ body: () -> Void) {
    lock.withLock(body)
  }

  /// Releases the slots of a join that has ended.
  @usableFromInline final func releaseSlots() {
    lock.release {
      defer { self.slots = [] }
      return self.slots
    }
  }
}

extension Array where Element: AnyObject {
  /// Calls a closure for each element without counting references. Counting each reference would cost as much as the call.
  @inline(__always)
  func eachUnretained(_ body: (Unmanaged<Element>) -> Void) {
    withUnsafeBytes { for element in $0.bindMemory(to: Unmanaged<Element>.self) { body(element) } }
  }
}
