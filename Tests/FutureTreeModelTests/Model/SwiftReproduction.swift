@testable import FutureTree

/// A program as Swift code for a test.
struct SwiftReproduction: CustomStringConvertible {
  let program: [ModelOperation]

  var description: String {
    var writer = Writer()
    for operation in program { writer.write(operation) }
    return (["let (executor, clock) = (ManualExecutor(), ManualClock())"] + writer.lines).joined(separator: "\n")
  }

  private struct Writer {
    var lines: [String] = []
    private var futures = 0
    private var handlers = 0
    private var tokens = 0
    private var observations = 0
    private var scopes = 0
    private var undos = 0

    mutating func write(_ operation: ModelOperation) {
      switch operation {
      case .makePromise:
        lines.append("var p\(futures): Promise<Int>? = Promise<Int>()")
        makeFuture("p\(futures)!.future")
      case .derive(let operation, let upstream, let body, let isOnExecutor, let act):
        if operation == .delayed { futures += 1 }  // The number of its timer.
        makeFuture(derived(operation, upstream, body, on(isOnExecutor), text(act)))
      case .join(let operation, let inputs):
        makeFuture("Future.\(operation)([\(inputs.map { "f\($0)" }.joined(separator: ", "))])")
      case .enqueue(let body, let isUrgent, let act):
        let priority = isUrgent ? "(priority: .high)" : ""
        makeFuture("queue.add\(priority) { print(\"body \(futures)\")\(text(act)); \(answer(body)) }")
      case .makeScope(let policy): makeScope("CancelScope(\(text(policy)), undoTimeout: .seconds(1), clock: clock)")
      case .nestScope(let policy, let scope): makeScope("s\(scope)!.nested(\"nested\", \(text(policy)))")
      case .addWork(let work, let scope): lines.append("s\(scope)?.add(f\(work))")
      case .undo(let step, let scope, let body, let act):
        let answer = body.inner.map { "return f\($0)" } ?? answer(body).replacing("return 0", with: "return .succeeded")
        let called = "print(\"undo \(undos)\")\(text(act))"
        lines.append("s\(scope)!.undo(of: f\(step), named: \"\(undos)\") { _ -> Future<Int> in \(called); \(answer) }")
        undos += 1
        futures += 3  // Its futures, which no operation names.
      case .commit(let scope): lines.append("try? s\(scope)!.commit()")
      case .endScope(let scope): lines.append("s\(scope)?.end()")
      case .dropScope(let scope): lines.append("s\(scope) = nil")
      case .share(let future): lines.append("f\(future).shared()")
      case .linger(let future): lines.append("f\(future).shared(linger: .seconds(1), clock: lingerClock\(future))")
      case .endLinger(let future): lines.append("lingerClock\(future).advance(by: .seconds(1))")
      case .complete(let promise, let completion): lines.append("p\(promise)?.complete(\(text(completion)))")
      case .drop(let promise): lines.append("p\(promise) = nil")
      case .install(let promise, let answer, let isOnExecutor, let act):
        install(promise, answer, on(isOnExecutor), text(act))
      case .endHandler(let handler): lines.append("h\(handler)?.remove()")
      case .answerLater(let handler, let completion):
        lines.append("r\(handler).value?.complete(\(text(completion)))")
      case .cancel(let future, let request): lines.append("print(f\(future).cancel(\(text(request))))")
      case .cancelWithGrace(let future, let request):
        lines.append("f\(future).cancel(\(text(request, "grace: .seconds(1), ")), clock: clock)")
      case .takeToken(let future):
        lines.append("var t\(tokens): CancelToken? = f\(future).cancelToken()")
        tokens += 1
      case .cancelToken(let token, let request): lines.append("print(t\(token)!.cancel(\(text(request))))")
      case .dropToken(let token): lines.append("t\(token) = nil")
      case .observe(let future, let isOnExecutor, let act):
        lines.append(
          "let o\(observations) = f\(future).observe\(on(isOnExecutor)) "
            + "{ print(\"observer \(observations)\", $0)\(text(act)) }")
        observations += 1
      case .endObservation(let observation): lines.append("o\(observation).remove()")
      case .runJob(let index): lines.append("executor.runNext(at: \(index))")
      case .dropJobs: lines.append("executor.dropAll()")
      case .advance: lines.append("clock.advance(by: .seconds(1))")
      }
    }

    private mutating func makeFuture(_ text: String) {
      lines.append("let f\(futures) = \(text)")
      futures += 1
    }

    private mutating func makeScope(_ text: String) {
      lines.append("var s\(scopes): CancelScope? = \(text)")
      futures += 1  // The number of its source.
      makeFuture("s\(scopes)!.future")
      scopes += 1
    }

    private func text(_ policy: ContractModel.ScopePolicy) -> String {
      let ending = policy.endCancelsWork ? "cancelsWork" : "waitsForWork"
      let failure = policy.failureCancelsWork ? "cancelsWork" : "continues"
      let deadline = policy.deadline == .none ? "" : "deadline: .after(.seconds(1), clock: clock), "
      let passing = policy.deadline == .none ? "" : ", whenDeadlinePasses: .\(policy.deadline)"
      return "\(deadline)whenEnded: .\(ending), whenWorkFails: .\(failure)\(passing)"
    }

    private mutating func install(_ promise: Int, _ answer: ModelAnswer, _ executor: String, _ act: String) {
      let response =
        if case .complete(let completion) = answer { ".complete(\(text(completion)))" } else { ".continue" }
      lines.append("let r\(handlers) = Locked<ReceivedCancelRequest<Int>?>(nil)")
      lines.append("let h\(handlers) = p\(promise)?.onRequestCancel\(executor) { request in")
      lines.append("  r\(handlers).value = request")
      lines.append("  print(\"handler \(handlers)\", request.options, request.reason.message)\(act)")
      lines.append("  return \(response)")
      lines.append("}")
      handlers += 1
    }

    private func derived(
      _ operation: ModelOperator, _ upstream: Int, _ body: ModelCompletion, _ executor: String, _ act: String
    ) -> String {
      let name = "\(operation)".replacing("Completion", with: "")
      let head = "f\(upstream).\(name)\(executor) {"
      let called = "print(\"body \(futures)\"\(operation == .ensure ? "" : ", $0"))\(act)"
      switch operation {
      case .shielded: return "f\(upstream).shielded()"
      case .timeout: return "f\(upstream).timeout(after: .seconds(1), clock: clock)"
      case .delayed: return "f\(upstream).delayed(by: .seconds(1), clock: clock)"
      default: break
      }
      switch operation.row.answers {
      case .error: return "\(head) \(called); \(answer(body).replacing("throw Oops", with: "return Oops")) }"
      case .none: return "\(head) \(called) }"
      case .value where operation == .onComplete:
        let called = called.replacing("$0", with: "v")
        if case .success(let value) = body {
          return "\(head) v -> Completion<Int> in \(called); return .success(\(value)) }"
        }
        return "\(head) v -> Completion<Int> in \(called); \(answer(body)) }"
      case .value: return "\(head) \(called); \(answer(body)) }"
      case .future:
        let inner = body.inner.map { "return f\($0)" } ?? answer(body)
        return "\(head) v -> Future<Int> in \(called.replacing("$0", with: "v")); \(inner) }"
      case .completion:
        return "\(head) v -> Completion<Int> in \(called.replacing("$0", with: "v")); return \(text(body)) }"
      }
    }

    private func on(_ isOnExecutor: Bool) -> String { isOnExecutor ? "(on: executor.executor)" : "" }

    private func answer(_ completion: ModelCompletion) -> String {
      switch completion {
      case .success(let value): "return \(value)"
      case .failure(let error): "throw Oops(\"\(error)\")"
      case .cancelled: "throw CancellationError()"
      case .cancelledBecause(let reason): "throw FutureCancelled(reason: \"\(reason)\")"
      case .using(let inner): "return f\(inner)"
      }
    }

    private func text(_ completion: ModelCompletion) -> String {
      switch completion {
      case .success(let value): ".success(\(value))"
      case .failure(let error): ".failure(Oops(\"\(error)\"))"
      case .cancelled: ".cancelled"
      case .cancelledBecause(let reason): ".cancelled(\"\(reason)\")"
      case .using(let inner): ".completeUsing(f\(inner))"
      }
    }

    private func text(_ request: ModelRequest, _ grace: String = "") -> String {
      let names = [
        (ModelOptions.alone, "doNotForwardRequest"), (.polite, "doNotForwardIfOthersWaiting"),
        (.force, "forceImmediately"),
      ]
      let options = names.filter { request.options.contains($0.0) }.map { ".\($0.1)" }.joined(separator: ", ")
      return "[\(options)], \(grace)reason: \"\(request.reason)\""
    }

    private func text(_ act: ModelAct?) -> String {
      switch act {
      case .complete(let promise, let value): "; p\(promise)?.succeed(\(value))"
      case .cancel(let future, let request): "; f\(future).cancel(\(text(request)))"
      case nil: ""
      }
    }
  }
}
