import FutureTree
import TestSupport
import Testing

@Suite("Bridges: from completion handlers")
struct FromCompletionHandlerTests {
  private typealias Handler = Future<Int>.ResultHandler

  private let log = Recorder()
  private let handlers = Locked<[Handler]>([])

  /// An API call whose handler the test retains. It logs its cancellation.
  private struct Call: Sendable {
    let log: Recorder

    func cancel() { log("cancel") }
  }

  private func call(_ handler: @escaping Handler) -> Call {
    handlers.withLock { $0.append(handler) }
    return Call(log: log)
  }

  private func cancellable() -> Future<Int> {
    Future.wrapping { completion in
      call(completion)
    } cancel: { call in
      call.cancel()
    }
  }

  private func report(_ result: Result<Int, any Error>) {
    for handler in handlers.value { handler(result) }
  }

  static let results: [(Result<Int, any Error>, String)] = [
    (.success(1), "success(1)"), (.failure(Oops()), "failure(oops)"), (.failure(CancellationError()), "cancelled"),
    (.failure(FutureCancelled(reason: "gone")), "cancelled"),
  ]

  @Test("The future completes with the result that the call reports", arguments: results)
  func reports(_ result: Result<Int, any Error>, _ state: String) {
    let plain = Future<Int>.wrapping { completion in handlers.withLock { $0.append(completion) } }
    let cancellable = cancellable()
    expectEqual([plain, cancellable].states(), ["pending", "pending"])

    report(result)

    expectEqual([plain, cancellable].states(), [state, state])
  }

  @Test("A call can report its result before it returns", arguments: results)
  func reportsAtOnce(_ result: Result<Int, any Error>, _ state: String) {
    let plain = Future<Int>.wrapping { completion in completion(result) }
    let cancellable = Future<Int>.wrapping { completion in
      completion(result)
      return Call(log: log)
    } cancel: { call in
      call.cancel()
    }

    expectEqual([plain, cancellable].states(), [state, state])
    cancellable.cancel()
    expectEqual(log.entries, [])
  }

  @Test("The first report decides the outcome")
  func reportsTwice() {
    let future = cancellable()

    report(.success(1))
    report(.failure(Oops()))

    expectEqual(future.state, "success(1)")
  }

  @Test("A dropped handler fails the future with BrokenPromise, which names the caller's line")
  func reportsNever() {
    let line: UInt = #line + 1
    let plain = Future<Int>.wrapping { (_: Handler) in }
    let optionals = Future<Int>.wrappingOptionals { (_: Future<Int>.OptionalsHandler) in }
    let cancellable = Future<Int>.wrapping { (_: Handler) in
      Call(log: log)
    } cancel: { call in
      call.cancel()
    }

    let errors = [plain, optionals, cancellable].map { $0.outcomeIfCompleted?.error as? BrokenPromise }

    expectEqual(errors.map { $0?.line }, [line, line + 1, line + 2])
    #expect(errors.allSatisfy { $0?.fileID == #fileID })
  }

  @Test("A handler dropped after a request completes the future `.cancelled`")
  func dropsAfterRequest() {
    let future = cancellable()

    future.cancel()
    handlers.value = []

    expectEqual(future.state, "cancelled")
  }

  @Test(
    "An error that `start` throws completes the future, even after the handler escaped",
    arguments: [(Oops(), "failure(oops)"), (CancellationError(), "cancelled")] as [(any Error & Sendable, String)])
  func throwing(error: any Error & Sendable, state: String) {
    let plain = Future<Int>.wrapping { completion in
      handlers.withLock { $0.append(completion) }
      throw error
    }
    let cancellable = Future<Int>.wrapping { completion -> Call in
      _ = call(completion)
      throw error
    } cancel: { call in
      call.cancel()
    }

    report(.success(1))

    expectEqual([plain, cancellable].states(), [state, state])
  }

  @Test("A request cancels the call once, and the future waits for the report")
  func cancels() {
    let future = cancellable()

    future.cancel(.doNotForwardIfOthersWaiting)
    future.cancel(reason: "why")

    expectEqual(log.entries, ["cancel"])
    expectEqual(future.state, "pending")
    report(.failure(CancellationError()))
    expectEqual(future.reason?.message, "why")
  }

  @Test("A success or an error reported after the request is kept")
  func raced() {
    let first = cancellable()
    first.cancel()
    report(.success(1))
    handlers.value = []
    let second = cancellable()
    second.cancel()
    report(.failure(Oops()))

    expectEqual([first, second].states(), ["success(1)", "failure(oops)"])
  }

  @Test("A forced future completes at once, and the call is cancelled")
  func forced() {
    let future = cancellable()

    future.cancel(.forceImmediately)

    expectEqual(future.state, "cancelled")
    expectEqual(log.entries, ["cancel"])
  }

  @Test("A call cancelled elsewhere completes the future `.cancelled`")
  func cancelledElsewhere() {
    let future = cancellable()

    report(.failure(CancellationError()))

    expectEqual(future.state, "cancelled")
    expectEqual(log.entries, [])
  }

  @Test("A request made while `start` runs cancels the call once `start` returns it")
  func cancelledBefore() {
    let gate = Promise<Void>()
    let outer = Locked<Future<Int>?>(nil)
    outer.value = gate.future.flatMap { [log] in
      Future.wrapping { (completion: @escaping Handler) in
        outer.value?.cancel()
        log("asked")
        outer.value?.ensure { completion(.success(1)) }
        return Call(log: log)
      } cancel: { call in
        call.cancel()
      }
    }

    gate.succeed()

    expectEqual(log.entries, ["asked", "cancel"])
    outer.value?.cancel(.forceImmediately)  // Otherwise its own bodies retain the future that it waits on.
  }

  @Test("`isCancellation` decides which errors are cancellations")
  func foreignError() {
    let errors: [any Error] = [Oops("stopped"), Oops("other"), CancellationError()]

    let states = errors.map { error in
      let future = Future<Int>.wrapping { completion in
        completion(.failure(error))
        return Call(log: log)
      } cancel: { call in
        call.cancel()
      } isCancellation: { error in
        error as? Oops == Oops("stopped")
      }
      return future.state
    }

    expectEqual(states, ["cancelled", "failure(other)", "failure(CancellationError())"])
  }

  @Test("The call is released when the future completes")
  func released() {
    let census = Census()
    func start(_ probe: Probe) -> Future<Int> {
      Future.wrapping { completion in
        handlers.withLock { $0.append(completion) }
        return probe
      } cancel: { call in
        call.touch()
      }
    }
    let future = start(census.probe())
    expectEqual(census.alive, 1)

    report(.success(1))

    expectEqual(census.alive, 0)
    expectEqual(future.state, "success(1)")
  }

  @Test("A handler with a value and an error: the error takes precedence, and two nils are a failure")
  func optionals() {
    let reports: [(Int?, (any Error)?)] = [
      (1, nil), (nil, Oops()), (2, Oops()), (nil, nil), (nil, CancellationError()),
    ]

    let plain = reports.map { value, error in
      Future<Int>.wrappingOptionals { completion in completion(value, error) }
    }
    let cancellable = reports.map { value, error in
      Future<Int>.wrappingOptionals { completion in
        completion(value, error)
        return Call(log: log)
      } cancel: { call in
        call.cancel()
      }
    }

    let states = ["success(1)", "failure(oops)", "failure(oops)", "failure(\(ReportedNothing()))", "cancelled"]
    expectEqual(plain.states(), states)
    expectEqual(cancellable.states(), states)
  }

  @Test("`wrapping` passes a handler for a result, `wrappingOptionals` a handler for a value and an error")
  func kinds() {
    @Sendable func withResult(_ handler: @escaping @Sendable (Result<Int, any Error>) -> Void) { handler(.success(1)) }
    @Sendable func withOptionals(_ handler: @escaping @Sendable (Int?, (any Error)?) -> Void) { handler(2, nil) }

    let futures = [
      Future<Int>.wrapping { completion in withResult(completion) },
      Future<Int>.wrappingOptionals { completion in withOptionals(completion) },
      Future<Int>.wrappingOptionals { completion in
        log("first")
        withOptionals(completion)
      },
      Future<Int>.wrappingOptionals { completion in
        withOptionals(completion)
        return Call(log: log)
      } cancel: { call in
        call.cancel()
      },
    ]

    expectEqual(futures.states(), ["success(1)", "success(2)", "success(2)", "success(2)"])
  }
}
