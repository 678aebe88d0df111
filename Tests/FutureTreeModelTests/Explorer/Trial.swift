#if FUTURETREE_EXPLORER && canImport(Glibc)
  @testable import FutureTree

  /// One run of a scenario: new futures, the threads that act on them, and the checks after all threads end.
  final class Trial: @unchecked Sendable {  // Because: an explorer runs one thread at a time.
    /// The operations of each thread.
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
      let notified: Count
    }

    /// Adds a thread that performs the operations in order.
    func thread(_ operations: Explorer.Operation...) {
      threads.append(operations)
    }

    func thread(_ operations: [Explorer.Operation]) {
      threads.append(operations)
    }

    /// Watches a future: its outcome is a fact, its observer must be called once, and its count of consumers must be right.
    @discardableResult
    func watch<Value: Sendable>(_ name: String, _ future: Future<Value>) -> Future<Value> {
      let notified = Count()
      let call = notified.call
      futures.append(
        Watched(name: name, node: future.node, outcome: { Trial.describe(future) }, notified: notified))
      future.observe { _ in call() }
      return future
    }

    /// Returns a promise with a watched future and a counted handler.
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

    /// Counts the calls of a closure that may be called at most once.
    ///
    /// - Parameter isFact: Whether the call must occur exactly if it occurs in a sequential order.
    func calls(_ name: String, isFact: Bool = true) -> Call {
      let count = Count()
      counts.append((name, count, isFact))
      return count.call
    }

    /// Returns a token that the threads can cancel or drop.
    func token<Value: Sendable>(of future: Future<Value>) -> TokenHolder {
      let holder = TokenHolder(future.node, future.cancelToken())
      tokens.append(holder)
      return holder
    }

    /// Notes a fact that must be as in a sequential order.
    func note(_ name: String, _ fact: String) {
      facts[name] = fact
    }

    /// Adds a check that runs after all threads end. The check returns the problem, or `nil`.
    func claim(_ claim: @escaping () -> String?) {
      claims.append(claim)
    }

    func calledNever(_ name: String) -> Bool {
      !counts.contains { $0.name == name && $0.count.value > 0 }
    }

    // MARK: - After all threads end

    /// Returns the facts that must be as in one of the sequential orders, sorted by name.
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
        if future.notified.value != expected {
          broken.append(
            "law 1: an observer of \(future.name), \(future.outcome()), was called \(future.notified.value) times")
        }
        let tokenCount = tokens.count { $0.node === future.node && $0.isConsumer }
        if let problem = future.node.wrongInterest(tokens: tokenCount) { broken.append("\(problem) at \(future.name)") }
      }
      return broken
    }

    /// Releases all references. Returns a check that each future has completed once.
    func release() -> () -> [String] {
      let notified = futures.map { ($0.name, $0.notified) }
      (threads, futures, tokens, counts, claims) = ([], [], [], [], [])
      return {
        notified.filter { $0.1.value != 1 }
          .map { "law 16: an observer of \($0.0) was called \($0.1.value) times in all" }
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

  /// A counter of calls. It outlives the trial.
  final class Count: @unchecked Sendable {  // Because: an explorer runs one thread at a time.
    fileprivate(set) var value = 0

    fileprivate var call: Call { Call(self) }
  }

  /// An object captured by the closures that a trial counts, so that the live closures can be counted at the end.
  final class Call: @unchecked Sendable {  // Because: as `Count`.
    private let count: Count
    /// The number of live objects. One system thread explores at a time.
    private(set) nonisolated(unsafe) static var liveCount = 0

    fileprivate init(_ count: Count) {
      self.count = count
      Call.liveCount += 1
    }

    deinit { Call.liveCount -= 1 }

    /// Counts the call. A callback is a scheduling point.
    func callAsFunction() {
      (SchedulingPoint.explorer as? Explorer)?.reachedCallback(at: ObjectIdentifier(count))
      count.value += 1
    }
  }

  /// A token that threads share.
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
    /// Returns a problem if the count of consumers is wrong, or the list has an entry of a completed future.
    ///
    /// Law 10 (one consumer, one count). No thread runs during this check.
    fileprivate func wrongInterest(tokens: Int) -> String? {
      lock.withLock {
        guard state.isPending else { return nil }
        let entries = waiters.entries
        let counted = entries.filter(\.isCounted)
        // The owner of an entry is a future. Only the entry of a token has none, because the explorer has no tasks.
        let countedTokens = counted.count { $0.owner == nil }
        if Int(state.consumers) != counted.count || countedTokens != tokens {
          return "law 10: \(state.consumers) consumers, \(counted.count) entries, \(countedTokens) of \(tokens) tokens"
        }
        if state.isAbandoned, state.consumers > 0 { return "law 10: abandoned, and has consumers" }
        for entry in entries {
          guard let owner = entry.owner else { continue }
          // No other thread runs, so another future may be read under this lock.
          if !owner.state.isPending { return "law 23: an entry of `\(owner.state.createdBy)`, which has ended" }
          if entry.isCounted == owner.state.isAbandoned {
            return
              "law 10: `\(owner.state.createdBy)` has \(owner.state.isAbandoned ? "no " : "")interest, and is counted otherwise"
          }
        }
        return nil
      }
    }
  }
#endif
