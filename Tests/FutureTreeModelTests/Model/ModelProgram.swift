/// One step of a random program. Created objects are numbered in the order of the program.
enum ModelOperation: Hashable {
  case makePromise
  case derive(ModelOperator, from: Int, body: ModelCompletion, isOnExecutor: Bool, act: ModelAct?)
  case join(ModelOperator, of: [Int])
  /// Adds work to the queue of the program, which runs one body at a time.
  case enqueue(body: ModelCompletion, isUrgent: Bool, act: ModelAct?)
  case makeScope(ContractModel.ScopePolicy)
  case nestScope(ContractModel.ScopePolicy, in: Int)
  case addWork(Int, scope: Int)
  /// Registers an undo of a step. Its body returns a future, or throws.
  case undo(step: Int, scope: Int, body: ModelCompletion, act: ModelAct?)
  case commit(scope: Int)
  case endScope(Int)
  case dropScope(Int)
  case share(Int)
  case linger(Int)
  case complete(promise: Int, ModelCompletion)
  case drop(promise: Int)
  case install(promise: Int, ModelAnswer, isOnExecutor: Bool, act: ModelAct?)
  case endHandler(Int)
  case answerLater(handler: Int, ModelCompletion)
  case cancel(Int, ModelRequest)
  /// Asks, and forces when the time has advanced.
  case cancelWithGrace(Int, ModelRequest)
  case takeToken(Int)
  case cancelToken(Int, ModelRequest)
  case dropToken(Int)
  case observe(Int, isOnExecutor: Bool, act: ModelAct?)
  case endObservation(Int)
  case runJob(Int)
  case dropJobs
  /// Lets every timeout, grace period and deadline pass.
  case advance
  /// Lets the linger of a future end.
  case endLinger(Int)
}

/// The result of an operation.
enum ModelResult: Hashable {
  case nothing
  /// Whether a completion was the first, a scope has accepted work, or a scope has committed.
  case kept(Bool)
  case receipt(ModelReceipt)
  /// The preview differs from the receipt. The model never returns this.
  case wrongPreview
}

extension ContractModel {
  /// Performs one operation and all its effects.
  mutating func apply(_ operation: ModelOperation) -> ModelResult {
    let result = perform(operation)
    settle()
    return result
  }

  private mutating func perform(_ operation: ModelOperation) -> ModelResult {
    switch operation {
    case .makePromise: makePromise()
    case .derive(let operation, let upstream, let body, let isOnExecutor, let act):
      derive(Node(operation: operation, body: body, isOnExecutor: isOnExecutor, act: act), from: upstream)
    case .join(let operation, let inputs): join(operation, of: inputs)
    case .enqueue(let body, let isUrgent, let act):
      enqueue(Node(operation: .queued, body: body, act: act, isUrgent: isUrgent))
    case .makeScope(let policy): makeScope(policy)
    case .nestScope(let policy, let scope): makeScope(policy, in: scope)
    case .addWork(let work, let scope): return .kept(add(work, to: scope))
    case .undo(let step, let scope, let body, let act): undo(Undo(step: step, scope: scope, body: body, act: act))
    case .commit(let scope): return .kept(commit(scope))
    case .endScope(let scope): endScope(scope)
    case .dropScope(let scope): dropScope(scope)
    case .share(let future): share(future)
    case .linger(let future): linger(future)
    case .complete(let promise, let completion): return .kept(complete(promise, completion))
    case .drop(let promise): drop(promise)
    case .install(let promise, let answer, let isOnExecutor, let act):
      install(Handler(future: promise, answer: answer, isOnExecutor: isOnExecutor, act: act))
    case .endHandler(let handler): endHandler(handler)
    case .answerLater(let handler, let completion):
      if let isKept = answerLater(handler, completion) { return .kept(isKept) }
    case .cancel(let future, let request): return .receipt(cancel(future, request))
    case .cancelWithGrace(let future, let request): cancelWithGrace(future, request)
    case .takeToken(let future): takeToken(future)
    case .cancelToken(let token, let request): return .receipt(cancelToken(token, request))
    case .dropToken(let token): dropToken(token)
    case .observe(let future, let isOnExecutor, let act):
      observe(Observation(future: future, isOnExecutor: isOnExecutor, act: act))
    case .endObservation(let observation): endObservation(observation)
    case .runJob(let index): runJob(at: index)
    case .dropJobs: dropJobs()
    case .advance: expireTimers()
    case .endLinger(let future): endLinger(future)
    }
    return .nothing
  }
}
