#if FUTURETREE_EXPLORER && canImport(Glibc)
  @testable import FutureTree

  /// One run of a scenario: fresh futures, the threads that act on them, and what is looked at when they are done.
  final class Trial: @unchecked Sendable {  // Because: an explorer runs one thread at a time.
    /// What the threads do.
    private(set) var threads: [[Explorer.Operation]] = []
    private var futures: [Watched] = []
    private var tokens: [TokenHolder] = []
    private var counts: [(name: String, count: Count, isFact: Bool)] = []
    private var facts: [String: String] = [:]
    private var claims: [() -> String?] = []

    private struct Watched {
      let name: String
      let node: Node
      let outcome: () -> String
      let told: Count
    }

    /// What the threads do in turn, with a name for what they find out.
    func thread(_ operations: Explorer.Operation...) {
      threads.append(operations)
    }

    func thread(_ operations: [Explorer.Operation]) {
      threads.append(operations)
    }

    /// Looks at a future: how it ends is a fact, its observer is called once, and its count of consumers is the truth.
    @discardableResult
    func watch<Value: Sendable>(_ name: String, _ future: Future<Value>) -> Future<Value> {
      let told = Count()
      let call = told.call
      futures.append(
        Watched(name: name, node: future.node, outcome: { Trial.describe(future) }, told: told))
      future.observe { _ in call() }
      return future
    }

    /// A promise whose future is watched, and whose handler is counted.
    func source(
      _ name: String, answering response: CancelRequestResponse<Int> = .continue
    ) -> (promise: Promise<Int>, future: Future<Int>) {
      let promise = Promise<Int>()
      let future = watch(name, promise.future)
      let call = calls("\(name)/handler")
      promise.onRequestCancel { _ in
        call()
        return response
      }
      return (promise, future)
    }

    /// Counts calls of a closure, which is called once at most.
    ///
    /// - Parameter isFact: whether the number of calls must be one that a sequential order gives.
    func calls(_ name: String, isFact: Bool = true) -> Call {
      let count = Count()
      counts.append((name, count, isFact))
      return count.call
    }

    /// A token that the threads can ask, or drop.
    func token<Value: Sendable>(of future: Future<Value>) -> TokenHolder {
      let holder = TokenHolder(future.node, future.cancelToken())
      tokens.append(holder)
      return holder
    }

    /// Something that a thread has found out, which must be as in a sequential order.
    func note(_ name: String, _ fact: String) {
      facts[name] = fact
    }

    /// Something that holds when the threads are done, in any order. Returns what is wrong.
    func claim(_ claim: @escaping () -> String?) {
      claims.append(claim)
    }

    func calledNever(_ name: String) -> Bool {
      !counts.contains { $0.name == name && $0.count.value > 0 }
    }

    // MARK: - When the threads are done

    /// What must be as in one of the sequential orders, in the order of the names.
    func outcome() -> TrialOutcome {
      var found = facts
      for future in futures { found[future.name] = future.outcome() }
      for count in counts where count.isFact { found[count.name] = count.count.value == 0 ? "-" : "called" }
      let sorted = found.sorted { $0.key < $1.key }
      return TrialOutcome(names: sorted.map(\.key), facts: sorted.map(\.value))
    }

    func brokenLaws() -> [String] {
      var broken = claims.compactMap { $0() }
      for count in counts where count.count.value > 1 {
        broken.append("\(count.name) was called \(count.count.value) times")
      }
      for future in futures {
        let expected = future.node.ending == nil ? 0 : 1
        if future.told.value != expected {
          broken.append(
            "law 1: an observer of \(future.name), \(future.outcome()), was called \(future.told.value) times")
        }
        let tokenCount = tokens.count { $0.node === future.node && $0.isConsumer }
        if let problem = future.node.wrongInterest(tokens: tokenCount) { broken.append("\(problem) at \(future.name)") }
      }
      return broken
    }

    /// Lets go of everything. Returns what tells whether each future has ended once.
    func release() -> () -> [String] {
      let told = futures.map { ($0.name, $0.told) }
      (threads, futures, tokens, counts, claims) = ([], [], [], [], [])
      return {
        told.filter { $0.1.value != 1 }.map { "law 16: an observer of \($0.0) was called \($0.1.value) times in all" }
      }
    }

    private static func describe<Value>(_ future: Future<Value>) -> String {
      switch future.outcomeIfCompleted {
      case .success(let value): "\(value)"
      case .failure(let error): error is BrokenPromise ? "broken" : "failed"
      case .cancelled(let reason): reason.message.count < 12 ? "cancel \(reason.message)" : "cancelled"
      case nil: future.cancelRequest == nil ? "pending" : "asked"
      }
    }
  }

  /// How often something happened. It outlives the trial.
  final class Count: @unchecked Sendable {  // Because: an explorer runs one thread at a time.
    fileprivate(set) var value = 0

    fileprivate var call: Call { Call(self) }
  }

  /// Captured by the closures that a trial counts, so that those that are still alive at the end can be counted as well.
  final class Call: @unchecked Sendable {  // Because: as `Count`.
    private let count: Count
    /// How many there are. One thread of the system explores at a time.
    private(set) nonisolated(unsafe) static var liveCount = 0

    fileprivate init(_ count: Count) {
      self.count = count
      Call.liveCount += 1
    }

    deinit { Call.liveCount -= 1 }

    /// A callback is a scheduling point.
    func callAsFunction() {
      (SchedulingPoint.explorer as? Explorer)?.reachedCallback(at: ObjectIdentifier(count))
      count.value += 1
    }
  }

  /// A token in the hands of the threads.
  final class TokenHolder: @unchecked Sendable {  // Because: as `Count`.
    let node: Node
    private var token: CancelToken?
    private var hasAsked = false

    fileprivate init(_ node: Node, _ token: CancelToken) {
      self.node = node
      self.token = token
    }

    fileprivate var isConsumer: Bool { token != nil && !hasAsked }

    func cancel(_ options: CancellationOptions, reason: CancellationReason) {
      hasAsked = true
      token?.cancel(options, reason: reason)
    }

    func drop() {
      let dropped = token.take()
      _ = dropped
    }
  }

  extension Node {
    /// Law 10, when nothing runs: what is counted is what wants this future, and nothing that has ended is in the list.
    fileprivate func wrongInterest(tokens: Int) -> String? {
      lock.withLock {
        guard state.isPending else { return nil }
        let entries = waiters.entries
        let counted = entries.filter(\.isCounted)
        // Only the entry of a token is counted and waits on behalf of no future, because the explorer has no tasks.
        let countedTokens = counted.count { $0.owner == nil }
        if Int(state.consumers) != counted.count || countedTokens != tokens {
          return "law 10: \(state.consumers) consumers, \(counted.count) entries, \(countedTokens) of \(tokens) tokens"
        }
        if state.isAbandoned, state.consumers > 0 { return "law 10: abandoned, and wanted" }
        for entry in entries {
          guard let owner = entry.owner else { continue }
          // Nobody else runs, so that another future may be read under this lock.
          if !owner.state.isPending { return "law 23: an entry of `\(owner.state.createdBy)`, which has ended" }
          if entry.isCounted == owner.state.isAbandoned {
            return
              "law 10: `\(owner.state.createdBy)` is \(owner.state.isAbandoned ? "not " : "")wanted, and counted otherwise"
          }
        }
        return nil
      }
    }
  }
#endif
