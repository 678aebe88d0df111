import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting

/// What happens in one world: loads, cancellations, resets and faults. A seed gives a plan, and shrinking removes parts of it.
struct SimulationPlan: Sendable {
  enum Event: Sendable {
    case load(SimulatedLoad)
    case cancel(load: Int, CancellationOptions)
    case reset
    case fault(SimulatedFault, duration: Duration)
  }

  struct Part: Sendable {
    let number: Int
    let time: Duration
    let event: Event
  }

  let seed: UInt64
  private(set) var parts: [Part] = []
  /// The faults of exchanges that are kept.
  private(set) var exchanges: [Int: SimulatedFault] = [:]
  private static let exchangeCount = 48

  /// - Parameter keeping: The numbers of the parts that are kept. A fault of exchange `n` has the number `1_000 + n`.
  init(seed: UInt64, faults: [SimulatedFault], keeping: Set<Int>? = nil) {
    self.seed = seed
    var random = RandomSource.seeded(seed)
    let isKept = { (number: Int) in keeping?.contains(number) ?? true }
    func add(_ time: Duration, _ event: Event) {
      all.append((time, event))
    }
    var all: [(time: Duration, event: Event)] = []
    // From sources of their own: the other parts stay the same for each seed.
    let (again, callers) = (RandomSource.seeded(~seed), RandomSource.seeded(seed ^ 0x5DEE_CE66))
    let loads = 2 + random.number(below: 9)
    for load in 0..<loads {
      let time = Duration.milliseconds(random.number(below: 20_000))
      add(time, .load(SimulatedLoad(load, &random, callers)))
      for _ in 0..<random.number(below: 3) where random.chance(50) {
        let later = Duration.milliseconds(random.number(below: random.chance(70) ? 2_000 : 40_000))
        add(
          time + later, .cancel(load: load, SimulationPlan.options[random.number(below: SimulationPlan.options.count)]))
      }
    }
    if random.chance(35) { add(.milliseconds(random.number(below: 30_000)), .reset) }
    if random.chance(10) { add(.milliseconds(random.number(below: 30_000)), .reset) }
    let surroundings = faults.filter { !$0.isOfExchange }
    for fault in surroundings where random.chance(15) {
      let (time, duration) = (random.number(below: 20_000), random.number(below: 20_000))
      add(.milliseconds(time), .fault(fault, duration: .milliseconds(duration)))
    }
    if again.chance(30) {
      let (number, delay) = (again.number(below: loads), Duration.milliseconds(again.number(below: 3_000)))
      let first = all.lazy.compactMap { part in
        if case .load(let load) = part.event, load.number == number { (part.time, load) } else { nil }
      }.first
      if let (time, load) = first {
        add(time + delay, .load(load.again(loads)))
        if again.chance(40) {
          let later = Duration.milliseconds(again.number(below: 2_000))
          add(time + delay + later, .cancel(load: [number, loads][again.number(below: 2)], []))
        }
      }
    }
    parts = all.enumerated().map { Part(number: $0.offset, time: $0.element.time, event: $0.element.event) }
      .filter { isKept($0.number) }
    let ofExchange = faults.filter(\.isOfExchange)
    for exchange in 0..<SimulationPlan.exchangeCount where !ofExchange.isEmpty && random.chance(60) {
      let fault = ofExchange[random.number(below: ofExchange.count)]
      if isKept(1_000 + exchange) { exchanges[exchange] = fault }
    }
  }

  private static let options: [CancellationOptions] = [
    [], [], .doNotForwardIfOthersWaiting, .forceImmediately, .doNotForwardRequest,
    [.forceImmediately, .doNotForwardIfOthersWaiting],
  ]

  /// The numbers of all parts and faults.
  var numbers: Set<Int> { Set(parts.map(\.number)).union(exchanges.keys.map { 1_000 + $0 }) }

  /// The faults that occur when the network has this number of exchanges.
  func faults(exchanges count: Int) -> Set<SimulatedFault> {
    Set(
      exchanges.filter { $0.key < count }.values
        + parts.compactMap { part in if case .fault(let fault, _) = part.event { fault } else { nil } })
  }

  func fault(_ exchange: Int) -> (fault: SimulatedFault?, chance: UInt64) {
    (exchanges[exchange], seed &* 0x9E37_79B9 &+ UInt64(exchange))
  }
}

extension SimulationPlan: CustomStringConvertible {
  /// A line for each part.
  var description: String {
    let events = parts.sorted { $0.time < $1.time }.map { part in
      "\(part.time.rounded): \(part.event)"
    }
    let faults = exchanges.sorted { $0.key < $1.key }.map { "exchange \($0.key): \($0.value)" }
    return (events + faults).joined(separator: "\n")
  }
}

extension SimulationPlan.Event: CustomStringConvertible {
  var description: String {
    switch self {
    case .load(let load): "load \(load.number): \(load)"
    case .cancel(let load, let options): "cancel load \(load)\(options.isEmpty ? "" : " \(options)")"
    case .reset: "reset"
    case .fault(let fault, let duration): "\(fault) for \(duration.rounded)"
    }
  }
}

/// One load of a world.
struct SimulatedLoad: Sendable, CustomStringConvertible {
  enum Reading: CaseIterable { case reads, ignores, cancels, leaves }

  private(set) var number: Int
  /// The number of the load whose request value is loaded again, if this is not the first.
  private(set) var first: Int?
  let method: HTTPMethod
  let host: String
  let item: Int
  let isStream: Bool
  let reading: Reading
  let priority: RequestPriority
  let hasDeadline: Bool
  let hasBody: Bool
  /// The number of the user, and the field with the credential.
  let user: (number: Int, field: String)?
  let language: String?
  /// Whether the request is that of a sequence of events.
  let isOfEvents: Bool

  /// - Parameter callers: The source of the parts that do not change the other parts of a world.
  init(_ number: Int, _ random: inout RandomSource, _ callers: RandomSource) {
    self.number = number
    let methods: [HTTPMethod] = [.get, .get, .get, .get, .get, .head, .post, .put]
    method = methods[random.number(below: methods.count)]
    host = random.chance(75) ? "a.example" : "b.example"
    item = random.number(below: 8)
    isStream = random.chance(25)
    reading = Reading.allCases[random.number(below: Reading.allCases.count)]
    priority = [.low, .normal, .high][random.number(below: 3)]
    hasDeadline = random.chance(15)
    hasBody = method == .post || method == .put
    let (user, field) = (
      callers.number(below: 4), SimulatedLoad.fields[callers.number(below: SimulatedLoad.fields.count)]
    )
    self.user = user < 2 ? (user, field) : nil
    language = [nil, nil, "de", "en"][callers.number(below: 4)]
    isOfEvents = callers.chance(30) && isStream && method == .get
  }

  private static let fields = ["Authorization", "X-Api-Key", "Cookie", "X-Session"]

  /// A second load of the same request.
  func again(_ number: Int) -> SimulatedLoad {
    var load = self
    (load.number, load.first) = (number, self.number)
    return load
  }

  var description: String {
    (first.map { "the request of load \($0) again, " } ?? "")
      + "\(method) https://\(host)/item/\(item)\(isStream ? ", as a stream" : "")\(hasDeadline ? ", with a deadline" : "")"
      + (user.map { ", of user \($0.number) with \($0.field)" } ?? "") + (language.map { ", in \($0)" } ?? "")
      + (isOfEvents ? ", for events" : "")
  }
}

extension RandomSource {
  func number(below bound: Int) -> Int {
    Int(truncatingIfNeeded: (next() >> 33) % UInt64(bound))
  }

  func chance(_ percent: Int) -> Bool { number(below: 100) < percent }
}
