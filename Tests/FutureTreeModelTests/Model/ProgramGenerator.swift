import FutureTreeTesting

extension SplitMix64 {
  mutating func below(_ bound: Int) -> Int { Int(truncatingIfNeeded: (next() >> 33) % UInt64(bound)) }

  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
}

/// A generator of random programs. The same seed gives the same program.
struct ProgramGenerator {
  /// The largest number of futures that a program can name.
  private static let mostFutures = 9
  /// The largest number of futures with those that it cannot name, so that each has a bit beside that of the queue.
  private static let mostNumbers = 60
  private static let operators = ModelOperator.allCases.filter {
    !$0.isSource && !$0.isHidden && $0 != .scope && !$0.isJoin
  }
  private static let joins = ModelOperator.allCases.filter(\.isJoin)

  private enum Kind {
    case number, list, outcomes, void
  }

  private var random: SplitMix64
  private let profile: Profile
  private var program: [ModelOperation] = []
  /// The futures that each future may depend on, itself included, as bits. No program makes a cycle.
  private var reachable: [UInt64] = []
  /// The kinds of the values. A future can be completed only with a future of its own kind.
  private var kinds: [Kind] = []
  private var promises: [Int] = []
  /// What the bodies in the queue may wait for, as bits. Queued work depends on all of it.
  private var queueReach: UInt64 = 0
  /// The timers of operators and the sources of scopes, which no operation names.
  private var hidden: Set<Int> = []
  /// The futures of scopes.
  private var scopes: [Int] = []
  /// The scopes that the program has dropped.
  private var dropped: Set<Int> = []
  private var handlers: [Int] = []
  private var tokens: [Int] = []
  private var tokenCount = 0
  private var observations = 0
  private var next = 1

  static func program(seed: UInt64) -> [ModelOperation] {
    var generator = ProgramGenerator(seed: seed)
    let length = 8 + generator.random.below(33)
    generator.makePromise()
    while generator.program.count < length { generator.step() }
    return generator.program
  }

  private init(seed: UInt64) {
    random = SplitMix64(seed: seed &* 0x9E37_79B9_7F4A_7C15)
    profile = Profile.all[random.below(Profile.all.count)]
  }

  /// The weights of the kinds of steps. A program uses one profile.
  private struct Profile {
    var make = 6
    var derive = 22
    var join = 5
    var share = 4
    var complete = 9
    var drop = 2
    var install = 9
    var endHandler = 2
    var answerLater = 4
    var cancel = 15
    var takeToken = 7
    var cancelToken = 5
    var dropToken = 4
    var observe = 3
    var endObservation = 1
    var runJob = 4
    var dropJobs = 1
    var advance = 2
    var linger = 3
    var endLinger = 4
    var enqueue = 4
    var grace = 3
    var makeScope = 3
    var addWork = 6
    var undo = 3
    var commit = 1
    var endScope = 2
    var dropScope = 1

    var total: Int {
      let making = make + derive + join + share + linger + enqueue + makeScope + addWork + undo
      let completing = complete + commit + endScope + dropScope + drop + install + endHandler + answerLater
      let cancelling = cancel + grace + takeToken + cancelToken + dropToken + observe + endObservation
      return making + completing + cancelling + runJob + dropJobs + advance + endLinger
    }

    static let all = [
      Profile(),
      // Trees that stay pending, with requests and withdrawals.
      Profile(make: 2, derive: 40, join: 14, complete: 2, drop: 0, install: 4, cancel: 22, takeToken: 12, dropToken: 8),
      // Sources with handlers, whose futures are completed with one another.
      Profile(make: 14, derive: 14, complete: 12, install: 18, endHandler: 3, answerLater: 9, cancel: 20),
      // Bodies that wait for an executor.
      Profile(derive: 34, complete: 14, cancel: 20, observe: 6, runJob: 18, dropJobs: 2),
      // Scopes in scopes, whose work ends, fails or is late.
      Profile(
        make: 10, derive: 10, complete: 20, advance: 8, makeScope: 20, addWork: 20, undo: 16, commit: 4,
        endScope: 9, dropScope: 3),
    ]
  }

  private mutating func step() {
    var left = random.below(profile.total)
    func isChosen(_ weight: Int) -> Bool {
      left -= weight
      return left < 0
    }
    if isChosen(profile.make) { return makePromise() }
    if isChosen(profile.derive) { return derive() }
    if isChosen(profile.join) { return join() }
    if isChosen(profile.share) { return program.append(.share(anyFuture())) }
    if isChosen(profile.complete) { return complete() }
    if isChosen(profile.drop) { return program.append(.drop(promise: anyPromise())) }
    if isChosen(profile.install) { return install() }
    if isChosen(profile.endHandler) { return endHandler() }
    if isChosen(profile.answerLater) { return answerLater() }
    if isChosen(profile.cancel) { return program.append(.cancel(anyFuture(), request())) }
    if isChosen(profile.takeToken) { return takeToken() }
    if isChosen(profile.cancelToken) { return cancelToken() }
    if isChosen(profile.dropToken) { return dropToken() }
    if isChosen(profile.observe) { return observe() }
    if isChosen(profile.endObservation) { return endObservation() }
    if isChosen(profile.runJob) { return program.append(.runJob(random.below(3))) }
    if isChosen(profile.dropJobs) { return program.append(.dropJobs) }
    if isChosen(profile.advance) { return program.append(.advance) }
    if isChosen(profile.enqueue) { return enqueue() }
    if isChosen(profile.makeScope) { return makeScope() }
    if isChosen(profile.addWork) { return addWork() }
    if isChosen(profile.undo) { return undo() }
    if isChosen(profile.commit) { return commit() }
    if isChosen(profile.endScope) { return endScope() }
    if isChosen(profile.dropScope) { return dropScope() }
    if isChosen(profile.grace) { return program.append(.cancelWithGrace(anyFuture(), request())) }
    if isChosen(profile.linger) { return program.append(.linger(anyFuture())) }
    if isChosen(profile.endLinger) { return program.append(.endLinger(anyFuture())) }
    program.append(.cancel(anyFuture(), request()))
  }

  private mutating func fresh() -> Int {
    next += 1
    return next
  }

  private mutating func anyFuture() -> Int {
    while true {
      let future = random.below(reachable.count)
      if !hidden.contains(future) { return future }
    }
  }

  private var hasRoom: Bool { reachable.count - hidden.count < Self.mostFutures && hasNumbers }

  private var hasNumbers: Bool { reachable.count < Self.mostNumbers }

  private mutating func anyPromise() -> Int { promises[random.below(promises.count)] }

  private mutating func isOnExecutor() -> Bool { random.chance(20) }

  /// Returns a call of user code, in 8 percent of cases. A body may cancel its own future.
  private mutating func act() -> ModelAct? {
    guard random.chance(8) else { return nil }
    if random.chance(30) { return .complete(promise: anyPromise(), value: fresh()) }
    return .cancel(anyFuture(), request())
  }

  private mutating func request() -> ModelRequest {
    let options = random.chance(30) ? [] : ModelOptions(rawValue: UInt8(random.below(8)))
    return ModelRequest(options: options, reason: fresh())
  }

  // MARK: - Futures

  private mutating func add(dependingOn upstream: UInt64, _ kind: Kind = .number) {
    reachable.append(upstream | 1 << UInt64(reachable.count))
    kinds.append(kind)
  }

  private mutating func makePromise() {
    guard hasRoom else { return }
    program.append(.makePromise)
    promises.append(reachable.count)
    add(dependingOn: 0)
  }

  private mutating func derive() {
    guard hasRoom else { return }
    var operation = Self.operators[random.below(Self.operators.count)]
    let upstream = random.chance(40) ? reachable.indices.last { !hidden.contains($0) }! : anyFuture()
    if operation == .recover, kinds[upstream] == .void { operation = .map }  // All values of a scope are equal.
    if operation == .delayed {
      hidden.insert(reachable.count)
      add(dependingOn: 0)
    }
    let keepsKind = operation.row.answers == .none || operation.row.succeeds == .pass
    let future = reachable.count
    let isOnExecutor = isOnExecutor()
    // A body that may run at once cannot name its own future.
    let early = isOnExecutor ? nil : act()
    add(dependingOn: reachable[upstream], keepsKind ? kinds[upstream] : .number)
    let body = completion(operation.row.answers, of: future)
    let act = isOnExecutor ? act() : early
    program.append(.derive(operation, from: upstream, body: body, isOnExecutor: isOnExecutor, act: act))
  }

  private mutating func join() {
    guard hasRoom else { return }
    let inputs = (0..<random.below(4)).map { _ in anyFuture() }.filter { kinds[$0] == .number }
    let operation = Self.joins[random.below(Self.joins.count)]
    program.append(.join(operation, of: inputs))
    let kind: Kind = operation == .all ? .list : operation == .allSettled ? .outcomes : .number
    add(dependingOn: inputs.reduce(0) { $0 | reachable[$1] }, kind)
  }

  /// Returns a completion for a future. It names another future only if that makes no cycle.
  private mutating func completion(_ answers: ModelOperator.Answers, of future: Int) -> ModelCompletion {
    switch answers {
    case .none: return .success(0)
    case .error: return random.chance(80) ? .failure(fresh()) : .cancelledBecause(fresh())
    case .future:
      if random.chance(90), let inner = inner(of: future) { return .using(inner) }
      return .failure(fresh())
    case .completion where random.chance(40):
      if let inner = inner(of: future) { return .using(inner) }
    case .completion, .value: break
    }
    switch random.below(6) {
    case 0..<3: return .success(fresh())
    case 3: return .failure(fresh())
    case 4: return .cancelled
    default: return .cancelledBecause(fresh())
    }
  }

  private mutating func inner(of future: Int) -> Int? {
    let inner = anyFuture()
    // A promise completed with its own future fails. No other future may wait for itself.
    if inner == future { return promises.contains(future) ? inner : nil }
    guard kinds[inner] == kinds[future] else { return nil }
    return makes(future, dependOn: inner) ? inner : nil
  }

  /// Makes a future depend on another one, unless that makes a cycle.
  private mutating func makes(_ future: Int, dependOn inner: Int) -> Bool {
    let future: UInt64 = 1 << UInt64(future)
    // No body of the queue waits for work of the queue.
    let isCycle = reachable[inner] & future != 0 || queueReach & future != 0 && reachable[inner] & Self.queue != 0
    if !isCycle { add(reachable[inner], to: future) }
    return !isCycle
  }

  /// Makes all that depends on a future depend on more.
  private mutating func add(_ more: UInt64, to future: UInt64) {
    if queueReach & future != 0 { queueReach |= more }
    for index in reachable.indices {
      if reachable[index] & future != 0 { reachable[index] |= more }
      if reachable[index] & Self.queue != 0 { reachable[index] |= queueReach }
    }
  }

  /// The bit of the queue.
  private static let queue: UInt64 = 1 << 63

  private mutating func enqueue() {
    guard hasRoom else { return }
    let inner = anyFuture()
    let usesInner = random.chance(85) && kinds[inner] == .number && reachable[inner] & Self.queue == 0
    let body = usesInner ? ModelCompletion.using(inner) : completion(.error, of: inner)
    program.append(.enqueue(body: body, isUrgent: random.chance(30), act: act()))
    if usesInner { queueReach |= reachable[inner] }
    add(dependingOn: Self.queue)
    add(0, to: Self.queue)
  }

  // MARK: - Scopes

  private mutating func makeScope() {
    guard hasRoom else { return }
    let deadlines: [ContractModel.ScopePolicy.Deadline] = [.none, .none, .fails, .succeeds]
    let policy = ContractModel.ScopePolicy(
      endCancelsWork: random.chance(40), failureCancelsWork: random.chance(40), deadline: deadlines[random.below(4)])
    let parent = random.chance(50) ? liveScope() : nil
    program.append(parent.map { .nestScope(policy, in: $0) } ?? .makeScope(policy))
    hidden.insert(reachable.count)
    add(dependingOn: 0)
    scopes.append(reachable.count)
    add(dependingOn: 0, .void)
    if let parent { add(reachable[scopes[scopes.count - 1]], to: 1 << UInt64(scopes[parent])) }
  }

  private mutating func addWork() {
    guard !scopes.isEmpty else { return }
    let (work, scope) = (anyFuture(), random.below(scopes.count))
    if makes(scopes[scope], dependOn: work) { program.append(.addWork(work, scope: scope)) }
  }

  private mutating func undo() {
    guard hasNumbers, let scope = liveScope() else { return }
    let (step, inner) = (anyFuture(), anyFuture())
    guard makes(scopes[scope], dependOn: step) else { return }
    var body = completion(.error, of: inner)
    if random.chance(70) { body = .success(0) }
    if random.chance(60), kinds[inner] == .number, makes(scopes[scope], dependOn: inner) { body = .using(inner) }
    program.append(.undo(step: step, scope: scope, body: body, act: act()))
    for _ in 1...3 {
      hidden.insert(reachable.count)
      add(dependingOn: 0)
    }
  }

  private mutating func commit() {
    if let scope = liveScope() { program.append(.commit(scope: scope)) }
  }

  private mutating func liveScope() -> Int? {
    guard !scopes.isEmpty else { return nil }
    let scope = random.below(scopes.count)
    return dropped.contains(scope) ? nil : scope
  }

  private mutating func endScope() {
    if !scopes.isEmpty { program.append(.endScope(random.below(scopes.count))) }
  }

  private mutating func dropScope() {
    guard !scopes.isEmpty else { return }
    let scope = random.below(scopes.count)
    program.append(.dropScope(scope))
    dropped.insert(scope)
  }

  // MARK: - Other operations

  private mutating func complete() {
    let promise = anyPromise()
    program.append(.complete(promise: promise, completion(.completion, of: promise)))
  }

  private mutating func install() {
    let promise = anyPromise()
    let answer = random.chance(50) ? ModelAnswer.continue : .complete(completion(.completion, of: promise))
    program.append(.install(promise: promise, answer, isOnExecutor: isOnExecutor(), act: act()))
    handlers.append(promise)
  }

  private mutating func endHandler() {
    if !handlers.isEmpty { program.append(.endHandler(random.below(handlers.count))) }
  }

  private mutating func answerLater() {
    guard !handlers.isEmpty else { return }
    let handler = random.below(handlers.count)
    program.append(.answerLater(handler: handler, completion(.completion, of: handlers[handler])))
  }

  private mutating func takeToken() {
    program.append(.takeToken(anyFuture()))
    tokens.append(tokenCount)
    tokenCount += 1
  }

  private mutating func cancelToken() {
    guard !tokens.isEmpty else { return }
    program.append(.cancelToken(tokens[random.below(tokens.count)], request()))
  }

  private mutating func dropToken() {
    guard !tokens.isEmpty else { return }
    program.append(.dropToken(tokens.remove(at: random.below(tokens.count))))
  }

  private mutating func observe() {
    program.append(.observe(anyFuture(), isOnExecutor: isOnExecutor(), act: act()))
    observations += 1
  }

  private mutating func endObservation() {
    if observations > 0 { program.append(.endObservation(random.below(observations))) }
  }
}
