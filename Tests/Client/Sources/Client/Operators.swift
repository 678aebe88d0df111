import FutureTree

/// One combination of a value, an outcome and an executor, for which every operator is checked.
struct OperatorChecks<Value: Shape> {
  let executor: FutureExecutor
  let name: String
  let ending: Ending
  /// Whether the future completes after the operator was called.
  let isPending: Bool

  private func check<Output: Sendable>(
    _ operation: String, _ derive: (_ future: Future<Value>, _ log: Log) -> Future<Output>
  ) async {
    let (promise, log) = (Promise<Value>(), Log())
    if !isPending { complete(promise) }
    let future = derive(promise.future, log)
    if isPending { complete(promise) }
    let outcome = await future.outcome
    show(
      "\(operation) of \(Value.self), \(ending), \(name), \(isPending ? "pending" : "completed"): \(log.text) \(outcome.text)"
    )
  }

  private func complete(_ promise: Promise<Value>) {
    switch ending {
    case .succeeded: promise.succeed(Value(7))
    case .failed: promise.fail(Fault(number: 7))
    case .cancelled: promise.completeCancelled("seven")
    }
  }

  func run() async {
    await checkSuccesses()
    await checkFailures()
    await checkEveryOutcome()
    await checkAsyncBodies()
  }

  private func checkSuccesses() async {
    await check("map") { future, log in
      future.map(on: executor) { value in
        log("\(value)")
        return value
      }
    }
    await check("map to another type") { future, _ in future.map(on: executor) { ["\($0)"] } }
    await check("map that throws") { future, _ in
      future.map(on: executor) { value -> Value in throw Fault(number: "\(value)".count) }
    }
    await check("flatMap") { future, log in
      future.flatMap(on: executor) { value in
        log("\(value)")
        return .succeeded(value)
      }
    }
    await check("flatMap to a pending future") { future, _ in
      future.flatMap(on: executor) { value in
        let promise = Promise<Value>()
        return Future.zip(promise.future, Future<Void>.after(.zero).map { promise.succeed(value) }).map { $0.0 }
      }
    }
    await check("onSuccess") { future, log in
      future.onSuccess(on: executor) { value -> Future<Value> in
        log("\(value)")
        return .succeeded(Value(3))
      }
    }
    await check("delayed") { future, _ in future.delayed(by: .zero) }
    await check("delayed by a negative time") { future, _ in future.delayed(by: .seconds(-1), fileID: "Client", line: 1)
    }
  }

  private func checkFailures() async {
    await check("recover") { future, log in
      future.recover(on: executor) { error in
        log("\(error)")
        return Value(5)
      }
    }
    await check("recoverWith") { future, log in
      future.recoverWith(on: executor) { error in
        log("\(error)")
        return .succeeded(Value(6))
      }
    }
    await check("mapError") { future, _ in
      future.mapError(on: executor) { error in Fault(number: "\(error)".count) }
    }
    await check("onFailure") { future, log in future.onFailure(on: executor) { log("\($0)") } }
    await check("onCancel") { future, log in future.onCancel(on: executor) { log($0.message) } }
  }

  private func checkEveryOutcome() async {
    await check("onComplete with the outcome") { future, log in
      future.onComplete(on: executor) { outcome -> Completion<Value> in
        log(outcome.text)
        return Completion(outcome)
      }
    }
    await check("onComplete with a value") { future, _ in
      future.onComplete(on: executor) { outcome -> Completion<Value> in .success(Value(outcome.text.count)) }
    }
    await check("onComplete with an error") { future, _ in
      future.onComplete(on: executor) { _ -> Completion<Value> in .failure(Fault(number: 1)) }
    }
    await check("onComplete with a cancellation") { future, _ in
      future.onComplete(on: executor) { _ -> Completion<Value> in .cancelled }
    }
    await check("onComplete with a future") { future, _ in
      future.onComplete(on: executor) { outcome -> Completion<Value> in .completeUsing(.succeeded(Value(2))) }
    }
    await check("ensure") { future, log in future.ensure(on: executor) { log("ensured") } }
    await check("shielded") { future, _ in future.shielded() }
    await check("timeout") { future, _ in future.timeout(after: .seconds(3_600)) }
    // A concurrent executor can run observers in any order, so each has a promise of its own.
    await check("observe") { future, _ in
      let (first, second) = (Promise<String>(), Promise<String>())
      future.observe(on: executor) { first.succeed($0.text) }
      future.observe(on: executor) { second.succeed("again \($0.text)") }
      return Future.zip(first.future, second.future).map { "\($0), \($1)" }
    }
    await check("get") { future, _ in
      future.onComplete(on: executor) { outcome -> Completion<String> in
        do { return .success("\(outcome.ending) \(try outcome.get())") } catch let error as FutureCancelled {
          return .success("\(outcome.ending) \(error == FutureCancelled(reason: error.reason)) \(error.reason.message)")
        }
      }
    }
  }

  private func checkAsyncBodies() async {
    await check("asyncMap") { future, log in
      future.asyncMap(on: executor) { value in
        await Task.yield()
        log("\(value)")
        return value
      }
    }
    await check("asyncRecover") { future, _ in
      future.asyncRecover(on: executor) { error in
        await Task.yield()
        return Value("\(error)".count)
      }
    }
    await check("asyncOnComplete") { future, _ in
      future.asyncOnComplete(on: executor) { outcome in
        await Task.yield()
        return outcome.text
      }
    }
    await check("value") { future, _ in .task { try await future.value } }
  }
}

/// The operators with bodies that are isolated to the main actor.
struct MainChecks<Value: Shape> {
  let future: Future<Value>

  func run() async {
    let log = Log()
    let values = future.map(on: .main) { $0 }.flatMap(on: .main) { .succeeded($0) }
      .onSuccess(on: .main) { value -> Future<Value> in .succeeded(value) }
      .onComplete(on: .main) { outcome -> Completion<Value> in Completion(outcome) }
      .asyncMap(on: .main) { $0 }.ensure(on: .main) { log("ensured") }
    let errors = future.mapError(on: .main) { $0 }.onFailure(on: .main) { log("\($0)") }
      .onCancel(on: .main) { log($0.message) }.recover(on: .main) { _ in Value(4) }
    show("on main of \(Value.self): \(await values.outcome.text), \(await errors.outcome.text), \(log.text)")
  }
}

/// Futures of one value outside of chains: promises, requests, and loads that share a future.
func checkSources<Value: Shape>(of type: Value.Type) async {
  let created: [Future<Value>] = [.succeeded(Value(1)), .failed(Fault(number: 2)), .cancelled("three")]
  show("created of \(type): \(created.map(\.text))")

  var promise: Promise<Value>? = Promise()
  let broken = promise?.future
  promise = nil
  show("dropped promise of \(type): \(broken?.text ?? "")")

  let answers: [CancelRequestResponse<Value>] = [
    .complete(.success(Value(5))), .complete(.failure(Fault(number: 6))), .complete(.cancelled),
    .complete(.completeUsing(.succeeded(Value(8)))), .continue,
  ]
  for answer in answers {
    let promise = Promise<Value>()
    promise.onRequestCancel { request in
      request.complete(.success(Value(request.reason.message.count)))
      return answer
    }
    let other = Promise<Value>()
    other.onRequestCancel { _ in answer }
    let derived = promise.future.map { ["\($0)"] }
    derived.cancel(reason: "stop")
    other.future.cancel(reason: "stop")
    show("request of \(type): \(derived.text), \(other.future.text), \(other.succeed(Value(9)))")
  }

  let flights = SingleFlight<String, Value>()
  let pending = Promise<Value>()
  let callers = (0..<3).map { number in
    flights.load(number < 2 ? "a" : "b") { number < 2 ? pending.future : .succeeded(Value(3)) }
  }
  callers[0].cancel(reason: "left")
  pending.succeed(Value(4))
  show("load of \(type): \(callers.map(\.text)), \(flights.count)")

  let attempts = Future.retry(.constant(attempts: 3)) { number in
    number < 3 ? .failed(Fault(number: number)) : .succeeded(Value(number))
  }
  let traversed = Future.traverse(1...5, atMost: 2) { .succeeded(Value($0)) }
  show("retry and traverse of \(type): \(await attempts.outcome.text), \(await traversed.outcome.text)")

  let late = Promise<Value>()
  show("timeout of \(type): \(await late.future.timeout(after: .zero).outcome.text)")
  late.succeed(Value(1))
}

/// Returns the number of references that are alive. Executors can release their jobs after the outcome was delivered.
func aliveReferences() async -> Int {
  for _ in 0..<10_000 where Reference.alive.load(ordering: .relaxed) > 0 {
    try? await Task.sleep(for: .milliseconds(1))
  }
  return Reference.alive.load(ordering: .relaxed)
}
