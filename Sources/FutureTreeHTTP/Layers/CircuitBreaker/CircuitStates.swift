import FutureTree

/// The circuits of all origins. Pure: takes no lock, calls no closure, reads no clock.
///
/// # Invariants
/// 1. Each change of a circuit gives it a new epoch. A result with another epoch than its circuit is ignored.
/// 2. While a circuit is half-open, `running + successes` is at most `probes`.
/// 3. There are at most `limit` circuits.
struct CircuitStates {
  /// One request that was sent.
  struct Ticket: Sendable {
    let origin: String
    let isProbe: Bool
    fileprivate let epoch: Int
  }

  enum Admission {
    case admitted(Ticket)
    /// The circuit is open for this time, or half-open with all probes sent.
    case refused(Duration)
  }

  private struct Circuit {
    enum Phase {
      case closed
      case open(until: Duration)
      case halfOpen(running: Int, successes: Int)
    }

    var phase = Phase.closed
    /// The results while the circuit is closed.
    var window = CircuitWindow()
    var epoch: Int
    var lastUse: Duration

    var isClosed: Bool {
      if case .closed = phase { true } else { false }
    }
  }

  private let threshold: CircuitThreshold
  private let openDuration: Duration
  private let probes: Int
  private let limit: Int
  private var circuits: [String: Circuit] = [:]
  private var lastEpoch = 0

  init(_ threshold: CircuitThreshold, openDuration: Duration, probes: Int, limit: Int) {
    self.threshold = threshold
    self.openDuration = openDuration
    self.probes = probes
    self.limit = limit
  }

  var count: Int { circuits.count }

  func state(of origin: String, at now: Duration) -> CircuitBreaker.State {
    switch circuits[origin]?.phase {
    case nil, .closed: .closed
    case .open(let end): now < end ? .open(remaining: end - now) : .halfOpen
    case .halfOpen: .halfOpen
    }
  }

  /// Decides whether a request is sent. Returns the new state if the circuit has changed.
  mutating func admit(_ origin: String, at now: Duration) -> (Admission, CircuitBreaker.State?) {
    circuits.makeRoom(for: origin, limit: limit) { $0.isClosed == $1.isClosed ? $0.lastUse < $1.lastUse : $0.isClosed }
    var circuit = circuits[origin] ?? newCircuit(at: now)
    circuit.lastUse = now
    defer { circuits[origin] = circuit }
    var change: CircuitBreaker.State?
    if case .open(let end) = circuit.phase {
      if now < end { return (.refused(end - now), nil) }
      self.change(&circuit, to: .halfOpen(running: 0, successes: 0))
      change = .halfOpen
    }
    guard case .halfOpen(let running, let successes) = circuit.phase else {
      return (.admitted(Ticket(origin: origin, isProbe: false, epoch: circuit.epoch)), nil)
    }
    guard running + successes < probes else { return (.refused(.zero), nil) }
    circuit.phase = .halfOpen(running: running + 1, successes: successes)
    return (.admitted(Ticket(origin: origin, isProbe: true, epoch: circuit.epoch)), change)
  }

  /// Counts the result of a request. Returns the new state if the circuit has changed.
  mutating func ended(
    _ ticket: Ticket, _ verdict: CircuitBreaker.Verdict, at now: Duration
  ) -> CircuitBreaker.State? {
    guard var circuit = circuits[ticket.origin], circuit.epoch == ticket.epoch else { return nil }
    switch (circuit.phase, verdict) {
    case (.closed, .ignored), (.open, _):
      return nil
    case (.closed, _):
      circuit.window = CircuitWindow()  // The dictionary then has the only reference, and the window is not copied.
      let opens = circuits[ticket.origin]!.window.add(isFailure: verdict == .failure, at: now, threshold)
      return opens ? open(ticket.origin, at: now) : nil
    case (.halfOpen, .failure):
      return open(ticket.origin, at: now)
    case (.halfOpen(let running, let successes), _):
      let successes = verdict == .success ? successes + 1 : successes
      circuit.phase = .halfOpen(running: running - 1, successes: successes)
      let closes = successes == probes
      if closes { change(&circuit, to: .closed) }
      circuits[ticket.origin] = circuit
      return closes ? .closed : nil
    }
  }

  /// Removes all circuits. Returns their number.
  mutating func reset() -> Int {
    defer { circuits = [:] }
    return circuits.count
  }

  private mutating func open(_ origin: String, at now: Duration) -> CircuitBreaker.State {
    guard var circuit = circuits[origin] else { return .closed }
    change(&circuit, to: .open(until: now + openDuration))
    circuits[origin] = circuit
    return .open(remaining: openDuration)
  }

  private mutating func change(_ circuit: inout Circuit, to phase: Circuit.Phase) {
    lastEpoch += 1
    circuit.epoch = lastEpoch
    circuit.phase = phase
    circuit.window = CircuitWindow()
  }

  private mutating func newCircuit(at now: Duration) -> Circuit {
    lastEpoch += 1
    return Circuit(epoch: lastEpoch, lastUse: now)
  }
}
