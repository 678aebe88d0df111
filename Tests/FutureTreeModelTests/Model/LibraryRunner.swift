import FutureTreeTesting

@testable import FutureTree

/// Performs the operations of a program on the library.
final class LibraryRunner: @unchecked Sendable {  // Because: one thread runs a program.
  @exclusivity(unchecked) private(set) var futures: [any FutureHandle] = []
  /// The calls of user code in the program.
  @exclusivity(unchecked) var events: [ModelEvent] = []
  /// The requests that handlers received, for later answers.
  @exclusivity(unchecked) private var received: [ReceivedCancelRequest<Int>?] = []
  @exclusivity(unchecked) private var promises: [Promise<Int>?] = []
  @exclusivity(unchecked) private var handlers: [CancelHandler] = []
  @exclusivity(unchecked) private var tokens: [CancelToken?] = []
  @exclusivity(unchecked) private var observations: [FutureObservation] = []
  /// Whether a handler makes a call before it answers.
  @exclusivity(unchecked) private var handlersAct = false
  private let executor = ManualExecutor()
  let clock = ManualClock()
  /// A clock for each future that lingers, because the order in which lingers begin is not specified.
  @exclusivity(unchecked) private var lingerClocks: [Int: ManualClock] = [:]
  private let queue: FutureExecutor
  private let workQueue = FutureQueue(aging: nil)
  @exclusivity(unchecked) private var scopes: [CancelScope?] = []
  @exclusivity(unchecked) private var undos = 0
  @exclusivity(unchecked) private(set) var reports: [Future<GraceReport>] = []

  /// The log of every future, if there is one.
  private let log: FutureLog?

  init(log: FutureLog? = nil) {
    queue = executor.executor
    self.log = log
  }

  /// Performs the call of a callback before it returns.
  func perform(_ act: ModelAct?) {
    switch act {
    case .complete(let promise, let value): promises[promise]?.succeed(value)
    case .cancel(let future, let request): _ = futures[future].cancel(request)
    case nil: break
    }
  }

  /// Drops all that may call user code later. With a wrong model, the library may have work in flight.
  func close() {
    scopes = []
    received = []
    for promise in promises.indices { promises[promise] = nil }
    while executor.pendingCount > 0 || clock.timerCount > 0 {
      executor.dropAll()
      clock.advance(by: .seconds(1))
    }
  }

  func apply(_ operation: ModelOperation) -> ModelResult {
    switch operation {
    case .makePromise: makePromise()
    case .derive(let operation, let upstream, let completion, let isOnExecutor, let act):
      // The timer of an operator has a number in the model. No program refers to it.
      if operation == .delayed { add(Handle(.succeeded(0))) }
      let body = LibraryBody(
        future: futures.count, executor: executor(isOnExecutor), completion: completion,
        inner: completion.inner.map { futures[$0] }, act: act, world: self)
      add(futures[upstream].derive(operation, body))
    case .join(let operation, let inputs):
      add(join(operation, inputs.map { (futures[$0] as! Handle<Int>).future }))
    case .enqueue(let completion, let isUrgent, let act):
      let body = LibraryBody(
        future: futures.count, executor: .immediate, completion: completion,
        inner: completion.inner.map { futures[$0] }, act: act, world: self)
      add(Handle(workQueue.add(priority: isUrgent ? .high : .medium) { try body.queuedFuture() }))
    case .makeScope(let policy):
      add(
        CancelScope(
          deadline: deadline(policy), whenEnded: policy.whenEnded, whenWorkFails: policy.whenWorkFails,
          whenDeadlinePasses: policy.whenDeadlinePasses, undoTimeout: .seconds(1), clock: clock))
    case .nestScope(let policy, let scope):
      add(
        scopes[scope]!.nested(
          "nested", deadline: deadline(policy), whenEnded: policy.whenEnded, whenWorkFails: policy.whenWorkFails,
          whenDeadlinePasses: policy.whenDeadlinePasses))
    case .addWork(let work, let scope): return .kept(scopes[scope].map(futures[work].add) ?? false)
    case .undo(let step, let scope, let completion, let act):
      let body = LibraryBody(
        future: undos, executor: .immediate, completion: completion, inner: completion.inner.map { futures[$0] },
        act: act, world: self)
      futures[step].addUndo(named: "\(undos)", to: scopes[scope]!, body)
      undos += 1
      // Its future, the timeout of it, and the future that shows it: no program refers to them.
      for _ in 1...3 { add(Handle(.succeeded(0))) }
    case .commit(let scope):
      do { try scopes[scope]!.commit() } catch { return .kept(false) }
      return .kept(true)
    case .endScope(let scope): scopes[scope]?.end()
    case .dropScope(let scope): scopes[scope] = nil
    case .share(let future): futures[future].share()
    case .linger(let future): futures[future].linger(clock: lingerClock(of: future))
    case .complete(let promise, let completion):
      guard let owner = promises[promise] else { return .kept(false) }
      return .kept(owner.complete(library(completion)))
    case .drop(let promise): promises[promise] = nil
    case .install(let promise, let answer, let isOnExecutor, let act): install(promise, answer, isOnExecutor, act)
    case .endHandler(let handler): handlers[handler].remove()
    case .answerLater(let handler, let completion):
      guard let received = received[handler] else { return .nothing }
      return .kept(received.complete(library(completion)))
    case .cancel(let future, let request): return cancel(future, request)
    case .cancelWithGrace(let future, let request):
      reports.append(futures[future].cancelWithGrace(request, clock: clock))
    case .takeToken(let future): tokens.append(futures[future].cancelToken())
    case .cancelToken(let token, let request):
      let receipt = tokens[token]!.cancel(request.libraryOptions, reason: LibraryReason.reason(request.reason))
      return .receipt(ModelReceipt(receipt))
    case .dropToken(let token): tokens[token] = nil
    case .observe(let future, let isOnExecutor, let act): observe(future, isOnExecutor, act)
    case .endObservation(let observation): observations[observation].remove()
    case .runJob(let index): executor.runNext(at: index)
    case .dropJobs: executor.dropAll()
    case .advance: clock.advance(by: .seconds(1))
    case .endLinger(let future): lingerClock(of: future).advance(by: .seconds(1))
    }
    return .nothing
  }

  /// Compares the receipt with a preview of it. They differ only if a handler changes the tree during the propagation.
  ///
  /// Law 17 (receipts).
  private func cancel(_ future: Int, _ request: ModelRequest) -> ModelResult {
    let preview = futures[future].previewCancel(request)
    let receipt = futures[future].cancel(request)
    return handlersAct || preview == receipt ? .receipt(ModelReceipt(receipt)) : .wrongPreview
  }

  private func lingerClock(of future: Int) -> ManualClock {
    let clock = lingerClocks[future] ?? ManualClock()
    lingerClocks[future] = clock
    return clock
  }

  /// The number of timers that the linger of a future has set.
  func lingerTimers(of future: Int) -> Int { lingerClocks[future]?.timerCount ?? 0 }

  private func executor(_ isOnExecutor: Bool) -> FutureExecutor { isOnExecutor ? queue : .immediate }

  private func library(_ completion: ModelCompletion) -> Completion<Int> {
    completion.library(completion.inner.map { futures[$0] }) { $0 }
  }

  private func add(_ future: any FutureHandle) {
    futures.append(future)
    promises.append(nil)
    log?.add(treeOf: future.node)
  }

  private func add(_ scope: CancelScope) {
    add(Handle(.succeeded(0)))  // Its source, which no program refers to.
    add(Handle(scope.future))
    scopes.append(scope)
  }

  private func deadline(_ policy: ContractModel.ScopePolicy) -> FutureDeadline? {
    policy.deadline == .none ? nil : .after(.seconds(1), clock: clock)
  }

  private func join(_ operation: ModelOperator, _ inputs: [Future<Int>]) -> any FutureHandle {
    switch operation {
    case .all: Handle<[Int]>(Future.all(inputs))
    case .allSettled: Handle<[Outcome<Int>]>(Future.allSettled(inputs))
    case .race: Handle<Int>(Future.race(inputs))
    case .any: Handle<Int>(Future.any(inputs))
    default: preconditionFailure("\(operation) is no join")
    }
  }

  private func makePromise() {
    let promise = Promise<Int>()
    add(Handle(promise.future))
    promises[promises.count - 1] = promise
  }

  private func install(_ promise: Int, _ answer: ModelAnswer, _ isOnExecutor: Bool, _ act: ModelAct?) {
    let id = handlers.count
    if act != nil { handlersAct = true }
    let response: CancelRequestResponse<Int> =
      if case .complete(let completion) = answer { .complete(library(completion)) } else { .continue }
    received.append(nil)
    // The program has no promise left to install on: a handler of another promise takes its number.
    let owner = promises[promise] ?? Promise<Int>()
    handlers.append(
      owner.onRequestCancel(on: executor(isOnExecutor)) { [unowned self] request in
        received[id] = request
        let asked = ModelRequest(CancelRequest(options: request.options, reason: request.reason))
        events.append(ModelEvent(kind: .handler, id: id, request: asked, outcome: nil))
        perform(act)
        return response
      })
  }

  private func observe(_ future: Int, _ isOnExecutor: Bool, _ act: ModelAct?) {
    let id = observations.count
    observations.append(
      futures[future].observe(on: executor(isOnExecutor)) { [unowned self] outcome in
        events.append(ModelEvent(kind: .observer, id: id, request: nil, outcome: outcome))
        perform(act)
      })
  }
}

extension ContractModel.ScopePolicy {
  fileprivate var whenEnded: CancelScope.EndPolicy { endCancelsWork ? .cancelsWork : .waitsForWork }
  fileprivate var whenWorkFails: CancelScope.FailurePolicy { failureCancelsWork ? .cancelsWork : .continues }
  fileprivate var whenDeadlinePasses: CancelScope.DeadlinePolicy { deadline == .succeeds ? .succeeds : .fails }
}
