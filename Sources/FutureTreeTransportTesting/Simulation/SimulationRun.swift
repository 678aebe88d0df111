import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting

/// One run of a world.
final class SimulationRun: @unchecked Sendable {  // Because: one thread runs a world.
  struct Load {
    let load: SimulatedLoad
    /// `nil` while the call of `load` runs.
    var future: Future<HTTPResponse>?
    /// Whether the load began during a reset.
    let isDuringReset: Bool
    var completions = 0
    /// Whether the caller ends before the network has confirmed the cancellation.
    var endsAtOnce = false
    /// Whether the caller has detached without a request: the work continues behind it.
    var isDetached = false
    var transfer: Future<Void>?

    var isPending: Bool { future?.isCompleted != true }
    /// Whether the caller has an interest in the response.
    var isLive: Bool { isDetached || isPending && future?.cancelRequest == nil }
  }

  private let plan: SimulationPlan
  let world: SimulatedWorld
  private let api: any HTTPLoader
  private let grace: Duration
  var loads: [Int: Load] = [:]
  private var requests: [Int: HTTPRequest] = [:]
  private var resets: [Future<Void>] = []
  private var isBeginningReset = false
  private var problems: [String] = []
  /// The number of timers of the run itself.
  private var left = 0
  /// The number of loads of events that have succeeded, for each item.
  private var eventCounts: [String: Int] = [:]
  private var diskFaults: [SimulatedFault: Int] = [:]

  init(_ plan: SimulationPlan, grace: Duration, _ scenario: (SimulatedWorld) throws -> any HTTPLoader) throws {
    self.plan = plan
    self.grace = grace
    world = SimulatedWorld(plan)
    api = try scenario(world)
    world.network.check { [weak self] in self?.problem(of: $0) }
  }

  var layers: [String] { world.layers }
  /// The faults that have occurred.
  var faults: Set<SimulatedFault> { plan.faults(exchanges: world.network.exchangeCount) }

  /// Runs the world to its end. Returns the broken rules, and the simulated time.
  func run() -> (problems: [String], time: Duration) {
    let faults = PrivateFile.Faults { [weak self] isWrite in
      guard let self else { return nil }
      if isWrite, diskFaults[.diskFull, default: 0] > 0 { return ENOSPC }
      return !isWrite && diskFaults[.diskUnreadable, default: 0] > 0 ? EIO : nil
    }
    PrivateFile.$faults.withValue(faults) {
      for part in plan.parts { at(part.time) { self.perform(part.event) } }
      var steps = 0
      var end: Duration?
      while world.clock.advanceToNextTimer(), steps < 200_000 {
        steps += 1
        if end == nil, hasEnded { end = world.clock.now }
        if let end, let next = world.clock.nextDeadline, next > end + grace, problems.isEmpty {
          report("A timer is set for \(next.rounded), although everything had ended at \(end.rounded).")
        }
      }
      if steps == 200_000 { report("The world has not ended after \(steps) timers.") }
      checkEnd()
    }
    let time = world.clock.now
    world.removeRules()
    return (problems, time)
  }

  func at(_ time: Duration, _ body: @escaping @Sendable () -> Void) {
    left += 1
    _ = world.clock.schedule(after: time - world.clock.now) { [weak self] in
      self?.left -= 1
      body()
    }
  }

  private var hasEnded: Bool {
    left == 0 && !loads.values.contains(where: \.isDetached)
      && loads.values.allSatisfy { !$0.isPending && $0.transfer?.isCompleted != false }
      && resets.allSatisfy(\.isCompleted) && world.network.openCount == 0
  }

  func report(_ problem: String) {
    if !problems.contains(problem) { problems.append(problem) }
  }
}

// MARK: - Events

extension SimulationRun {
  private func perform(_ event: SimulationPlan.Event) {
    switch event {
    case .load(let load): begin(load)
    case .cancel(let number, let options): cancel(number, options)
    case .reset: reset()
    case .fault(let fault, let duration): begin(fault, for: duration)
    }
  }

  private var isResetting: Bool { isBeginningReset || resets.contains { !$0.isCompleted } }

  private func begin(_ load: SimulatedLoad) {
    guard let request = try? load.first.flatMap({ requests[$0] }) ?? request(of: load) else {
      return report("The request of load \(load.number) is invalid.")
    }
    requests[load.number] = request
    // Registered first: the network asks whether a caller waits.
    loads[load.number] = Load(load: load, isDuringReset: isResetting)
    let future = api.load(request)
    loads[load.number]?.future = future
    future.observe { [weak self] in self?.ended(load, $0) }
  }

  private func request(of load: SimulatedLoad) throws -> HTTPRequest {
    var request = try HTTPRequest(load.method, "https://\(load.host)/item/\(load.item)")
    try request.setHeader("X-Note", SimulationRun.note(load.item))
    if load.hasBody {
      let isThrowing = diskFaults[.bodySourceThrows, default: 0] > 0
      request.body =
        isThrowing
        ? .file(URL(fileURLWithPath: "/nonexistent/body"), contentType: "text/plain") : .data(Data("body".utf8))
    }
    if load.isStream { request.delivery = .stream(bufferLimit: 2_048) }
    if let (number, field) = load.user {
      try request.setHeader(field, world.credential(of: number, for: load.host))
      if field == "X-Session" { request.sensitiveHeaders.insert(field) }
    }
    if let language = load.language { try request.setHeader("Accept-Language", language) }
    if load.isOfEvents { request = request.acceptingEvents }
    request.priority = load.priority
    if load.hasDeadline { request.deadline = .after(.seconds(8), clock: world.clock) }
    return request
  }

  /// A header value that a layer which rewrites values would change.
  private static func note(_ item: Int) -> String { "\(item), \"a\\\";b=c\"; %0D%0A\t=?utf-8?q?x?=" }

  private func cancel(_ number: Int, _ options: CancellationOptions) {
    guard let load = loads[number] else { return }
    // Law 3 (doNotForwardIfOthersWaiting): a reset that waits for the load withholds the request, and the caller ends at once.
    let isWithheld = options.contains(.doNotForwardIfOthersWaiting) && isResetting
    if isWithheld || options.contains(.forceImmediately) || options.contains(.doNotForwardRequest) {
      loads[number]?.endsAtOnce = true
    }
    if options.contains(.doNotForwardRequest), load.isPending { loads[number]?.isDetached = true }
    load.future?.cancel(options, reason: "the simulation")
    load.transfer?.cancel(options, reason: "the simulation")
  }

  private func reset() {
    let before = Set(world.network.open.map(\.number))
    let preview = api.previewReset()
    isBeginningReset = true
    let receipt = api.resetWithReceipt(clock: world.clock)
    isBeginningReset = false
    let reset = receipt.map { _ in }
    resets.append(reset)
    receipt.observe { [weak self] outcome in
      guard case .success(let receipt) = outcome else { return }  // It never fails.
      self?.check(receipt, preview)
    }
    reset.observe { [weak self] _ in
      guard let self else { return }
      let still = world.network.open.filter { before.contains($0.number) }
      if !still.isEmpty {
        report("Refuse, drain, wipe: after a reset, connections of earlier loads are open: \(still.count).")
      }
    }
  }

  /// The receipt of a reset counts the loads of its preview.
  private func check(_ receipt: ResetReceipt, _ preview: ResetPreview) {
    if receipt.error != nil {
      report("Refuse, drain, wipe: a part of a reset has failed:\n\(receipt)")
    }
    let stopped = preview.loads.count { !$0.isLingering }
    guard let part = receipt.parts.first(where: { $0.name == "Autocancel" }), part.drained < stopped else { return }
    report("Refuse, drain, wipe: the preview of a reset named \(stopped) loads, and its receipt \(part.drained).")
  }

  private func begin(_ fault: SimulatedFault, for duration: Duration) {
    switch fault {
    case .wallClockForward: world.jump(.seconds(86_400))
    case .wallClockBackward: world.jump(.seconds(-86_400))
    default:
      diskFaults[fault, default: 0] += 1
      at(world.clock.now + duration) { self.diskFaults[fault, default: 0] -= 1 }
    }
  }
}

// MARK: - Rules

extension SimulationRun {
  /// H2 (the holder completes), H3 (known before handled), H4 (nothing after completion): no request begins for callers that have
  /// asked to cancel or have an outcome. H9 (refusal): the caller's header arrives as it is. H10 (credentials never cross an
  /// origin): no request has the secret of another host.
  private func problem(of request: HTTPRequest) -> String? {
    let (item, host) = (request.simulatedItem, request.url?.host ?? "")
    for secret in world.secrets where secret != world.secret(of: host) {
      if request.headers.contains(where: { $0.value.contains(secret) }) {
        return "Credentials never cross an origin: a secret was sent to \(host)."
      }
    }
    guard item.hasPrefix("item/") else { return nil }
    if let number = Int(item.dropFirst(5)), request.headers["X-Note"] != SimulationRun.note(number) {
      return "Nothing rewritten: a request for \(item) has another header than its caller's."
    }
    if world.allowsBackgroundLoads { return nil }
    let callers = loads.values.filter { "item/\($0.load.item)" == item }
    if callers.contains(where: \.isLive) { return nil }
    return callers.contains(where: \.isPending)
      ? "The holder completes: a request for \(item) began although its callers had asked to cancel."
      : "Nothing after completion: a request for \(item) began although its callers had an outcome."
  }

  private func ended(_ load: SimulatedLoad, _ outcome: Outcome<HTTPResponse>) {
    loads[load.number]?.completions += 1
    check(outcome, of: load)
    guard case .success(let response) = outcome else { return }
    if load.isOfEvents { checkConnection(of: load) }
    if load.isStream { read(response, load) }
  }

  private func check(_ outcome: Outcome<HTTPResponse>, of load: SimulatedLoad) {
    if case .failure(let error) = outcome { checkSecrets("\(error)", "the error of load \(load.number)") }
    if world.refusesDuringReset, loads[load.number]?.isDuringReset == true {
      guard case .failure(let error as HTTPError) = outcome, error.code == .resetInProgress else {
        return report("Refuse, drain, wipe: load \(load.number) began during a reset, and was not refused.")
      }
    }
    // H7 (two executions): neither another load of the same request nor anything else cancels a load.
    if case .cancelled = outcome, let began = loads[load.number], began.future?.cancelRequest == nil, !isResetting {
      report("Two executions: load \(load.number) was cancelled, although neither its caller nor a reset had asked.")
    }
    // H5 (confirmed cancellation): the connection is free when a load that does not end at once has been cancelled.
    if case .cancelled = outcome, let began = loads[load.number], !began.endsAtOnce, began.completions == 1,
      !isShared(load)
    {
      let open = world.network.open.filter { $0.item == "item/\(load.item)" && !$0.hasFailed }
      if !open.isEmpty {
        report("Confirmed cancellation: load \(load.number) was cancelled, and its connection is open.")
      }
    }
    if case .success(let response) = outcome, !load.isStream { check(try? response.body, of: response, load) }
  }

  private func isShared(_ load: SimulatedLoad) -> Bool {
    loads.values.filter { $0.load.item == load.item }.count > 1 || world.allowsBackgroundLoads
  }

  /// A stored response is no connection for events.
  private func checkConnection(of load: SimulatedLoad) {
    let item = "item/\(load.item)"
    eventCounts[item, default: 0] += 1
    if eventCounts[item, default: 0] > world.network.eventCount(of: item) {
      report("Events from their server: load \(load.number) of events succeeded without an exchange of its own.")
    }
  }

  /// H12 (whole bodies): a success has the whole body of an answer. That is an answer to the same user.
  func check(_ body: Data?, of response: HTTPResponse, _ load: SimulatedLoad) {
    guard load.method != .head, let body else { return }
    let isAnswer = world.network.hasAnswered(body, to: response.request)
    if isAnswer.user { return }
    if isAnswer.anyUser { return report("Users are separated: load \(load.number) got a response to another user.") }
    report(
      "Whole bodies: load \(load.number) succeeded with a body that the server has not sent as a whole (\(body.count) bytes)."
    )
  }

  func checkSecrets(_ text: String, _ place: String) {
    if world.secrets.contains(where: { text.contains($0) }) { report("No printed secret: \(place) shows a secret.") }
  }

  private func checkEnd() {
    for (number, load) in loads.sorted(by: { $0.key < $1.key }) {
      if let future = load.future, load.isPending {
        report("Completes once: load \(number) has not completed. Its tree:\n\(future.tree())")
      }
      if load.completions > 1 { report("Completes once: load \(number) has completed \(load.completions) times.") }
      if load.transfer?.isCompleted == false {
        report("Delivered at the head: the transfer of load \(number) has not completed.")
      }
    }
    if isResetting { report("Refuse, drain, wipe: a reset has not completed.") }
    for exchange in world.network.open {
      report(
        "Confirmed cancellation: exchange \(exchange.number) (\(exchange.fault.map { "\($0)" } ?? "no fault")) is open at the end."
      )
    }
    for problem in world.network.problems { report(problem) }
    for line in world.lines { checkSecrets(line, "a line of the log") }
    for rule in world.rules where !rule.holds() { report("The rule “\(rule.text)” does not hold.") }
  }
}

/// The reading of streams.
extension SimulationRun {
  func read(_ response: HTTPResponse, _ load: SimulatedLoad) {
    let transfer = response.transfer
    // S6 (never shared)
    if !transfer.isCompleted, let other = loads.values.first(where: { $0.transfer == transfer }) {
      report("Never shared: loads \(other.load.number) and \(load.number) have the same stream.")
    }
    loads[load.number]?.transfer = transfer
    switch load.reading {
    case .cancels:
      at(world.clock.now + .milliseconds(300)) { transfer.cancel(reason: "the simulation") }
    case .ignores: break
    case .reads, .leaves:
      let reader = Locked(StreamReader(iterator: response.bodyStream.makeAsyncIterator()))
      poll(reader, response, load)
    }
  }

  private struct StreamReader {
    var iterator: HTTPBodyStream.Iterator?
    var body = Data()

    init(iterator: HTTPBodyStream.Iterator) { self.iterator = iterator }
  }

  /// Reads what has arrived, and again later. A reader that leaves does so after its first bytes.
  private func poll(_ reader: Locked<StreamReader>, _ response: HTTPResponse, _ load: SimulatedLoad) {
    var hasEnded = false
    guard var iterator = reader.value.iterator else { return }
    do {
      reading: while true {
        switch try iterator.nextAvailable() {
        case .chunk(let bytes): reader.withLock { $0.body += bytes }
        case .end:
          hasEnded = true
          check(reader.value.body, of: response, load)
          break reading
        case .nothing: break reading
        }
      }
    } catch {
      hasEnded = true
      checkSecrets("\(error)", "the error of the stream of load \(load.number)")
    }
    if hasEnded || load.reading == .leaves && !reader.value.body.isEmpty {
      reader.withLock { $0.iterator = nil }
      return
    }
    at(world.clock.now + .milliseconds(100)) { self.poll(reader, response, load) }
  }
}
