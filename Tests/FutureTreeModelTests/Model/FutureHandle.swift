import FutureTreeTesting

@testable import FutureTree

/// A future of the library whose values, of any type, represent numbers.
protocol FutureHandle: Sendable {
  var node: Node { get }
  /// The outcome in the types of the model.
  var modelOutcome: ModelOutcome? { get }

  func cancel(_ request: ModelRequest) -> CancelReceipt
  func previewCancel(_ request: ModelRequest) -> CancelReceipt
  func cancelWithGrace(_ request: ModelRequest, clock: ManualClock) -> Future<GraceReport>
  func cancelToken() -> CancelToken
  func add(to scope: CancelScope) -> Bool
  func addUndo(named name: String, to scope: CancelScope, _ body: LibraryBody)
  func share()
  func linger(clock: ManualClock)
  func tree() -> TreeSnapshot
  func observe(on executor: FutureExecutor, _ body: @escaping @Sendable (ModelOutcome) -> Void) -> FutureObservation
  func derive(_ operation: ModelOperator, _ body: LibraryBody) -> any FutureHandle
}

/// The body of an operator.
struct LibraryBody: Sendable {
  let future: Int
  let executor: FutureExecutor
  let completion: ModelCompletion
  /// The future that `completion` names.
  let inner: (any FutureHandle)?
  let act: ModelAct?
  unowned let world: LibraryRunner

  func called(with outcome: ModelOutcome?) {
    world.events.append(ModelEvent(kind: .body, id: future, request: nil, outcome: outcome))
    world.perform(act)
  }
}

struct Handle<Value: Sendable>: FutureHandle {
  let future: Future<Value>
  let number: @Sendable (Value) -> Int
  let make: @Sendable (Int) -> Value

  var node: Node { future.node }
  var modelOutcome: ModelOutcome? { future.outcomeIfCompleted.map(model) }

  func cancel(_ request: ModelRequest) -> CancelReceipt {
    future.cancel(request.libraryOptions, reason: LibraryReason.reason(request.reason))
  }

  func previewCancel(_ request: ModelRequest) -> CancelReceipt { future.previewCancel(request.libraryOptions) }

  func cancelWithGrace(_ request: ModelRequest, clock: ManualClock) -> Future<GraceReport> {
    let reason = LibraryReason.reason(request.reason)
    return future.cancel(request.libraryOptions, grace: .seconds(1), reason: reason, clock: clock)
  }

  func cancelToken() -> CancelToken { future.cancelToken() }
  func add(to scope: CancelScope) -> Bool { scope.add(future) }

  func addUndo(named name: String, to scope: CancelScope, _ body: LibraryBody) {
    scope.undo(of: future, named: name) { _ in try body.undoFuture() }
  }

  func share() { future.shared() }
  func linger(clock: ManualClock) { future.shared(linger: .seconds(1), clock: clock) }
  func tree() -> TreeSnapshot { future.tree() }

  func observe(on executor: FutureExecutor, _ body: @escaping @Sendable (ModelOutcome) -> Void) -> FutureObservation {
    future.observe(on: executor) { body(model($0)) }
  }

  // MARK: - Conversions

  func model(_ outcome: Outcome<Value>) -> ModelOutcome { Self.model(outcome, number) }

  fileprivate static func model(_ outcome: Outcome<Value>, _ number: (Value) -> Int) -> ModelOutcome {
    switch outcome {
    case .success(let value): .success(number(value))
    case .failure(let error): .failure(Self.number(of: error))
    case .cancelled(let reason): .cancelled(reason: LibraryReason.number(of: reason))
    }
  }

  private static func number(of error: any Error) -> Int {
    switch error {
    case let error as ModelError: error.number
    case is BrokenPromise: ModelFailure.brokenPromise
    case is CompletedWithItself: ModelFailure.ownFuture
    case is DroppedJob: ModelFailure.dropped
    case is TimeoutError: ModelFailure.timeout
    case let error as FutureCancelled: LibraryReason.number(of: error.reason)
    case let error as UndoFailed:
      ModelFailure.undosFailed(
        undone: error.undone,
        error.failures.map { ModelFailure.UndoFailure(undo: Int($0.name)!, error: number(of: $0.error)) })
    case let error as AllFailed: ModelFailure.allFailed(error.errors.map(number))
    default: .min
    }
  }

}

extension Handle<Int> {
  fileprivate static func outcome(_ outcome: Outcome<Int>) -> ModelOutcome { model(outcome) { $0 } }

  init(_ future: Future<Int>) { self.init(future: future, number: { $0 }, make: { $0 }) }
}

extension Handle<[Int]> {
  init(_ future: Future<[Int]>) {
    self.init(future: future, number: { $0.reduce(0) { $0 &* 31 &+ $1 } }, make: { [$0] })
  }
}

extension Handle<Void> {
  init(_ future: Future<Void>) { self.init(future: future, number: { 0 }, make: { _ in () }) }
}

extension Handle<[Outcome<Int>]> {
  init(_ future: Future<[Outcome<Int>]>) {
    self.init(
      future: future, number: { $0.reduce(0) { $0 &* 31 &+ Handle<Int>.outcome($1).number } }, make: { [.success($0)] })
  }
}

// MARK: - Operators

extension Handle {
  func derive(_ operation: ModelOperator, _ body: LibraryBody) -> any FutureHandle {
    let executor = body.executor
    switch operation {
    case .map: return Handle<Int>(future.map(on: executor) { try body.value(of: number($0)) })
    case .flatMap: return Handle<Int>(future.flatMap(on: executor) { try body.future(of: number($0)) })
    case .onSuccess: return Handle<Int>(future.onSuccess(on: executor) { try body.future(of: number($0)) })
    case .onComplete:
      return Handle<Int>(future.onComplete(on: executor) { .success(try body.value(of: model($0))) })
    case .onCompleteCompletion:
      return Handle<Int>(
        future.onComplete(on: executor) { outcome in
          body.called(with: model(outcome))
          return body.completion { $0 }
        })
    default: return with(passing(operation, body))
    }
  }

  /// Returns the result of an operator that keeps the type of its upstream.
  private func passing(_ operation: ModelOperator, _ body: LibraryBody) -> Future<Value> {
    let executor = body.executor
    switch operation {
    case .recover:
      return future.recover(on: executor) { error -> Value in
        body.called(with: .failure(Self.number(of: error)))
        return make(try body.answer())
      }
    case .recoverWith:
      return future.recoverWith(on: executor) { error -> Future<Value> in
        body.called(with: .failure(Self.number(of: error)))
        return try body.innerFuture()
      }
    case .mapError:
      return future.mapError(on: executor) { error in
        body.called(with: .failure(Self.number(of: error)))
        return try body.error()
      }
    case .shielded: return future.shielded()
    case .timeout: return future.timeout(after: .seconds(1), clock: body.world.clock)
    case .delayed: return future.delayed(by: .seconds(1), clock: body.world.clock)
    case .onFailure: return future.onFailure(on: executor) { body.called(with: .failure(Self.number(of: $0))) }
    case .onCancel:
      return future.onCancel(on: executor) { body.called(with: .cancelled(reason: LibraryReason.number(of: $0))) }
    case .ensure: return future.ensure(on: executor) { body.called(with: nil) }
    default: preconditionFailure("\(operation) is no operator over one upstream")
    }
  }

  private func with(_ future: Future<Value>) -> Handle {
    Handle(future: future, number: number, make: make)
  }
}

extension LibraryBody {
  /// Runs the body of an undo.
  func undoFuture() throws -> Future<Int> {
    world.events.append(ModelEvent(kind: .undo, id: future, request: nil, outcome: nil))
    world.perform(act)
    return inner == nil ? .succeeded(try answer()) : try innerFuture()
  }

  /// Runs the body of queued work.
  func queuedFuture() throws -> Future<Int> {
    called(with: nil)
    return try innerFuture()
  }

  fileprivate func value(of value: Int) throws -> Int { try self.value(of: .success(value)) }

  fileprivate func value(of outcome: ModelOutcome) throws -> Int {
    called(with: outcome)
    return try answer()
  }

  fileprivate func future(of value: Int) throws -> Future<Int> { try future(of: .success(value)) }

  fileprivate func future(of outcome: ModelOutcome) throws -> Future<Int> {
    called(with: outcome)
    return try innerFuture()
  }

  fileprivate func completion<Value>(_ make: (Int) -> Value) -> Completion<Value> {
    completion.library(inner, make)
  }

  fileprivate func innerFuture<Value>() throws -> Future<Value> {
    if let inner { return (inner as! Handle<Value>).future }
    _ = try answer()
    preconditionFailure("a body that returns a future names one, or throws")
  }

  /// Returns the replacement for an error, or throws the error of the body.
  fileprivate func error() throws -> any Error {
    if case .failure(let error) = completion { return ModelError(number: error) }
    _ = try answer()
    preconditionFailure("a body that returns an error has one, or throws")
  }

  /// Returns the value, or throws if the completion has none. Law 15 (a task as a source).
  fileprivate func answer() throws -> Int {
    switch completion {
    case .success(let value): return value
    case .failure(let error): throw ModelError(number: error)
    case .cancelled: throw CancellationError()
    case .cancelledBecause(let reason): throw FutureCancelled(reason: LibraryReason.reason(reason))
    case .using: preconditionFailure("a body that returns a value names no future")
    }
  }
}
