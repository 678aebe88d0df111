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

  override final var inputIsAboutToDecide: Bool { openSlots > waitsFor.count }

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
      if input.state.isRare { input.reportNow(.hasWaiter(slot)) }
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
    var report: Node.AfterLock?
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

  /// The reason for the request to the remaining inputs when a join is decided. Read it after the join has ended.
  final var decidedReason: CancellationReason {
    let cause: (any Error)? =
      switch endingOnceEnded {
      case .succeeded: nil
      case .failed: error
      case .cancelled: FutureCancelled(reason: cancellationReason)
      }
    return .of(.decided, "`\(state.createdBy.name)` completed without this future", cause: cause)
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

/// A join with the type of its value. `rule` has the behavior of its operator.
///
/// The class is specialized at each call of an operator. Code that needs the types is inlined there. All other code is in `Join`.
@usableFromInline
final class JoinNode<Output: Sendable>: Join, @unchecked Sendable {  // Because: `rule` is guarded by the lock.
  /// The behavior of one operator. Its closures are called outside every lock.
  @usableFromInline
  struct Rule: Sendable {
    /// Returns the decision of the join when the input of a slot has ended.
    @usableFromInline let whenEnded: @Sendable (_ slot: Slot, _ input: Node) -> JoinDecision<Output>
    /// Returns the outcome of the join when no slot waits and none has decided. `nil` if that cannot happen.
    @usableFromInline let whenNoneDecided: (@Sendable (Join) -> Outcome<Output>)?

    @inlinable init(
      whenNoneDecided: (@Sendable (Join) -> Outcome<Output>)? = nil,
      whenEnded: @escaping @Sendable (_ slot: Slot, _ input: Node) -> JoinDecision<Output>
    ) {
      self.whenEnded = whenEnded
      self.whenNoneDecided = whenNoneDecided
    }
  }

  @exclusivity(unchecked) @usableFromInline var rule: Rule?

  @inlinable init(_ createdBy: Operator, rule: Rule) {
    self.rule = rule
    super.init(
      createdBy: createdBy,
      step: StoredStep { entry, upstream, action in
        let node = unsafeDowncast(entry, to: JoinNode<Output>.self)
        return node.perform(action, with: upstream, as: Output.self) { node.release() }
      })
  }

  /// Creates the slots. They begin to wait with `wait(in:for:)`.
  @inlinable func makeSlots(_ count: Int) -> [Slot] {
    makeSlots(count) { entry, input, _ in
      let slot = unsafeDowncast(entry, to: Slot.self)
      return unsafeDowncast(slot.join, to: JoinNode<Output>.self).inputEnded(of: slot, input)
    }
  }

  @inlinable func inputEnded(of slot: Slot, _ input: Node) -> Bool {
    var current: Rule?
    inputEnded(of: slot, ifPending: { current = rule })
    guard let rule = current else { return false }
    switch rule.whenEnded(slot, input) {
    case .waits:
      guard closeSlot(), let whenNoneDecided = rule.whenNoneDecided else { return false }
      return end(with: whenNoneDecided(self))
    case .waitsFor(let next):
      wait(in: slot, for: next)
      return false
    case .ends(let outcome):
      return end(with: outcome)
    }
  }

  @inlinable func end(with outcome: Outcome<Output>) -> Bool {
    let hasEnded =
      switch outcome {
      case .success(let value): decide { $0.initialize(to: value, as: Output.self) }
      case .failure(let error): decide(failing: error)
      case .cancelled(let reason): decide(cancelled: reason)
      }
    if hasEnded { release() }
    return hasEnded
  }

  @inlinable func release() {
    var released: Rule?
    locked { swap(&rule, &released) }
    _ = released  // Released here, outside the lock.
    releaseSlots()
  }
}

/// The decision of a join when one of its inputs has ended.
@usableFromInline
enum JoinDecision<Output: Sendable> {
  case waits
  /// The slot waits for this future next.
  case waitsFor(Node)
  case ends(Outcome<Output>)
}

/// A join that collects the values of all inputs, or ends as the first input that does not succeed.
///
/// `JoinNode` could do the same, but `all` is the most frequent join and costs less here. It needs types only to collect the
/// values, in the step for the action `run`, and takes one lock per input.
@usableFromInline
final class AllNode: Join, @unchecked Sendable {  // Because: `lock` guards `inputs`.
  /// The futures whose values are collected. Empty once this future has ended.
  @exclusivity(unchecked) private var inputs: [Node]

  @usableFromInline init(of inputs: [Node], step: StoredStep) {
    self.inputs = inputs
    super.init(createdBy: .all, step: step)
    let unique = inputs.withoutRepeated()
    let slots = makeSlots(unique.count) { entry, input, _ in
      let slot = unsafeDowncast(entry, to: Slot.self)
      return Unmanaged.passUnretained(unsafeDowncast(slot.join, to: AllNode.self))._withUnsafeGuaranteedRef {
        $0.inputEnded(of: slot, input)
      }
    }
    // The two arrays keep their elements alive. Counting a reference for each call would cost as much as the call.
    withExtendedLifetime((slots, unique)) {
      for index in slots.indices {
        let (slot, input) = (Unmanaged.passUnretained(slots[index]), Unmanaged.passUnretained(unique[index]))
        slot._withUnsafeGuaranteedRef { slot in
          input._withUnsafeGuaranteedRef { wait(in: slot, for: $0, after: 0, isWanted: true) }
        }
      }
    }
  }

  /// The step of the join.
  @inlinable @inline(__always)
  func perform<Value: Sendable>(_ action: Action, _ type: Value.Type) -> Bool {
    if action == .run { return succeed(values(of: currentInputs(), as: type)) }
    return perform(action, with: self, as: [Value].self) { release() }
  }

  @inlinable @inline(__always)
  func values<Value>(of inputs: [Node], as type: Value.Type) -> [Value] {
    [Value](unsafeUninitializedCapacity: inputs.count) { buffer, initialized in
      for index in inputs.indices { buffer.initializeElement(at: index, to: inputs[index].value(as: type)) }
      initialized = inputs.count
    }
  }

  private func inputEnded(of slot: Slot, _ input: Node) -> Bool {
    let hasSucceeded = input.state.phase == .succeeded
    let (isPending, allClosed) = inputEnded(of: slot, closes: hasSucceeded)
    guard isPending else { return false }
    if hasSucceeded {
      guard allClosed, step(self, self, .run) else { return false }
    } else {
      guard decide(because: decidedReason, { endLocked(as: input) }) else { return false }
    }
    release()
    return true
  }

  @usableFromInline func currentInputs() -> [Node] {
    lock.withLock { inputs }
  }

  @usableFromInline func release() {
    lock.release {
      defer { self.inputs = [] }
      return self.inputs
    }
    releaseSlots()
  }
}

extension [Node] {
  /// Returns each future once, in the order of its first occurrence. Builds a set only if a future is repeated.
  @usableFromInline func withoutRepeated() -> [Node] {
    if count <= 4, indices.allSatisfy({ index in !self[..<index].contains { $0 === self[index] } }) { return self }
    var addresses = [UInt](unsafeUninitializedCapacity: count) { buffer, initialized in
      for index in indices { buffer[index] = UInt(bitPattern: Unmanaged.passUnretained(self[index]).toOpaque()) }
      initialized = count
    }
    addresses.sort()
    guard zip(addresses, addresses.dropFirst()).contains(where: ==) else { return self }
    var seen: Set<ObjectIdentifier> = []
    return filter { seen.insert(ObjectIdentifier($0)).inserted }
  }
}

/// The future of a scope. It forwards requests to the work of the scope, and has no interest in that work: if the work has other
/// consumers, a request that stops where others wait stops there, and the scope still waits.
final class ScopeNode: Join, @unchecked Sendable {  // Because: see `Join`. `lock` guards `workRequest`.
  /// The work that has not ended. Each has one slot. The undo that runs is an input, but no work.
  private let pending = Locked<Set<ObjectIdentifier>>([])
  /// The request that the work has received without the scope.
  @exclusivity(unchecked) private var workRequest: CancelRequest?

  init() {
    super.init(
      createdBy: .scope,
      step: StoredStep { entry, upstream, action in
        let node = unsafeDowncast(entry, to: ScopeNode.self)
        return node.perform(action, with: upstream, as: Void.self) { node.releaseSlots() }
      })
  }

  /// Adds work that has begun, unless it was added before. A request to the scope or to its work reaches this work as well. Law 8
  /// (no request is lost).
  func add(_ work: Node) {
    guard pending.withLock({ $0.insert(ObjectIdentifier(work)).inserted }) else { return }
    wait(for: work)
    // Read after the work was added: `cancelWork` in another thread stores the request, and then reads the work.
    guard let request = lock.withLock({ workRequest }) else { return }
    CancellationPropagation.run(Signal(node: work, request: request))
  }

  /// Waits for an input that is no work: it receives no request that is for the work alone.
  func wait(for input: Node) {
    order(after: input) { entry, upstream, _ in
      let slot = unsafeDowncast(entry, to: Slot.self)
      let node = unsafeDowncast(slot.join, to: ScopeNode.self)
      _ = node.pending.withLock { $0.remove(ObjectIdentifier(upstream)) }
      _ = node.inputEnded(of: slot, closes: true)
      return false
    }
  }

  /// Asks the work to cancel, also work that is added later, but not the scope itself.
  func cancelWork(_ request: CancelRequest) {
    CancellationPropagation.run(work(receiving: request).map { Signal(node: $0, request: request) })
  }

  /// Forces the work to complete, also work that is added later, and that of nested scopes.
  ///
  /// - Returns: `nil` if no work is pending.
  func forceWork(_ request: CancelRequest) -> CancelReceipt? {
    let work = innermostWork { $0.work(receiving: request) }
    return work.isEmpty ? nil : CancellationPropagation.run(work.map { Signal(node: $0, request: request) })
  }

  /// Whether work is pending, here or in a nested scope.
  var hasWork: Bool { !innermostWork { $0.work() }.isEmpty }

  /// Returns the pending work, with that of nested scopes in their places.
  private func innermostWork(_ work: (ScopeNode) -> [Node]) -> [Node] {
    work(self).flatMap { ($0 as? ScopeNode)?.innermostWork(work) ?? [$0] }
  }

  /// Returns the pending work, and stores a request for work that is added later.
  private func work(receiving request: CancelRequest? = nil) -> [Node] {
    let inputs = lock.withLock {
      if let request { workRequest = request }
      return waitsFor
    }
    let pending = pending.value
    return inputs.map(\.node).filter { pending.contains(ObjectIdentifier($0)) }
  }

  /// Ends with an outcome, unless it has ended early.
  func end(with outcome: Outcome<Void>) {
    Trampoline.run {
      guard decide(because: decidedReason, { endLocked(with: outcome) }) else { return }
      releaseSlots()
      Trampoline.notify(self)
    }
  }
}

/// Law 23 (deciding detaches): a future that ends before all its inputs detaches from the remaining ones.
extension Node {
  /// Ends, and then detaches from the futures that this one still waits for.
  ///
  /// - Parameters:
  ///   - reason: The reason for the request to the remaining futures.
  ///   - end: Ends this future, under its lock. Returns false if it had ended.
  final func decide(because reason: @autoclosure () -> CancellationReason, _ end: () -> Bool) -> Bool {
    let left = lock.withLock { () -> LeftInputs? in
      guard state.isPending else { return nil }
      let inputs = inputsToLeave
      return end() ? inputs : nil
    }
    guard let left else { return false }
    left.leave(because: reason())
    return true
  }
}

/// The futures that a future still waits for when it is decided, and the entries that wait.
///
/// A join may have thousands of inputs, most of which have already ended. Therefore, only references to pending inputs are
/// counted. `slots` keeps the slots alive. Any other entry is the decided future itself, which the caller keeps alive.
final class LeftInputs {
  private var inputs: [(node: Unmanaged<Node>, entry: Unmanaged<Waiter>)] = []
  private let slots: [Join.Slot]

  /// - Parameter slots: The entries, if they are slots.
  init(capacity: Int, slots: [Join.Slot] = []) {
    self.slots = slots
    inputs.reserveCapacity(capacity)
  }

  deinit {
    for input in inputs { input.node.release() }
  }

  @inline(__always)
  func append(_ node: Unmanaged<Node>, _ entry: Unmanaged<Waiter>) {
    inputs.append((node.retain(), entry))
  }

  /// Withdraws the interest of the entries, with a request that stops where other consumers wait.
  func leave(because reason: @autoclosure () -> CancellationReason) {
    var request: CancelRequest?
    var signals: [Signal] = []
    for input in inputs {
      // A request to a future that has ended would be too late.
      guard input.node._withUnsafeGuaranteedRef({ $0.ending == nil }) else { continue }
      if request == nil { request = CancelRequest(options: .doNotForwardIfOthersWaiting, reason: reason()) }
      signals.append(
        Signal(
          node: input.node.takeUnretainedValue(), request: request, sender: input.entry.takeUnretainedValue(),
          departure: .leaves))
    }
    CancellationPropagation.run(signals)
  }
}
