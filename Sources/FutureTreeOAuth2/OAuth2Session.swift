import Foundation
import FutureTree
import FutureTreeHTTP

/// The work of a session for its credential, one task at a time.
protocol CredentialWork: Sendable {
  /// Begins a task. Its `next` is the loader after the layer, from the load that has waited longest.
  func begin(_ work: CredentialTask) -> Future<OAuth2Credential?>

  /// Deletes the stored credential.
  func delete() -> Future<Void>
}

/// A task for a credential.
struct CredentialTask: Sendable {
  let kind: OAuth2State.Kind
  /// The current credential.
  let current: OAuth2Credential?
  /// The credential that replaces it.
  let given: OAuth2Credential?
  /// The loader after the layer.
  let next: (any HTTPLoader)?
}

/// The credential of a layer, and the loads that wait for it. The session owns the lock, and acts after unlocking.
final class OAuth2Session: Sendable {
  /// The demand of a caller.
  enum Demand {
    case token
    /// Another token than this one, which a server rejected.
    case tokenInsteadOf(OAuth2Token)
    case logIn
    case replacement(OAuth2Credential)
  }

  enum Answer {
    case use(OAuth2Token)
    case fail(HTTPError)
    /// The future completes at once when it is asked to cancel.
    case wait(Future<OAuth2Token>)
    /// The token is from before a reset, so there is no replacement for it.
    case none

    /// A future that completes when the token is available, without the token.
    var completion: Future<Void> {
      switch self {
      case .use, .none: .succeeded
      case .wait(let token): token.map { _ in }
      case .fail(let error): .failed(error)
      }
    }
  }

  private typealias Work = Promise<OAuth2Credential?>

  /// Work that begins, and the previous work that must end first.
  private struct Begun {
    let work: OAuth2State.Work
    let promise: Work
    let previous: Work?
    let current: OAuth2Credential?
    let next: (any HTTPLoader)?
  }

  private struct Waiter {
    let promise: Promise<OAuth2Token>
    let next: (any HTTPLoader)?
  }

  private struct Shared {
    var state: OAuth2State
    private var lastWaiter = 0
    private var waiting: [Int: Waiter] = [:]
    /// The work in flight, even if its result is no longer needed.
    var running: (number: Int, promise: Work)?
    var wipe: Promise<Void>?

    init(_ state: OAuth2State) {
      self.state = state
    }

    var isIdle: Bool { waiting.isEmpty && running == nil && wipe == nil && state.work == nil }

    mutating func ask(
      _ demand: Demand, over next: (any HTTPLoader)?, _ now: OAuth2State.Moment
    ) -> (answer: OAuth2State.Answer?, waiter: Int, promise: Promise<OAuth2Token>?, begun: Begun?) {
      lastWaiter += 1
      let answer: OAuth2State.Answer
      switch demand {
      case .token: answer = state.tokenWanted(by: lastWaiter, at: now)
      case .tokenInsteadOf(let token):
        guard let other = state.tokenWanted(insteadOf: token, by: lastWaiter, at: now) else {
          return (nil, lastWaiter, nil, nil)
        }
        answer = other
      case .logIn: answer = state.logInWanted(by: lastWaiter, at: now)
      case .replacement: answer = state.credentialGiven(by: lastWaiter, at: now)
      }
      guard case .wait(let begins) = answer else { return (answer, lastWaiter, nil, nil) }
      let promise = Promise<OAuth2Token>()
      waiting[lastWaiter] = Waiter(promise: promise, next: next)
      return (answer, lastWaiter, promise, begins.map { start($0) })
    }

    mutating func start(_ work: OAuth2State.Work) -> Begun {
      let next = waiting.min { $0.key < $1.key }?.value.next
      let begun = Begun(
        work: work, promise: Work(), previous: running?.promise, current: state.credential, next: next)
      running = (work.number, begun.promise)
      return begun
    }

    mutating func leave(_ waiter: Int) -> (promise: Promise<OAuth2Token>?, abandoned: Work?) {
      (waiting.removeValue(forKey: waiter)?.promise, state.waiterLeft(waiter) ? running?.promise : nil)
    }

    mutating func end(
      _ number: Int, _ outcome: Outcome<OAuth2Credential?>, _ now: OAuth2State.Moment
    ) -> (ended: Work?, released: Released) {
      var ended: Work?
      if let running, running.number == number {
        ended = running.promise
        self.running = nil
      }
      return (ended, take(state.workEnded(number, outcome, at: now)))
    }

    mutating func take(_ effects: OAuth2State.Effects) -> Released {
      Released(
        promises: effects.released.compactMap { waiting.removeValue(forKey: $0)?.promise }, outcome: effects.outcome,
        begun: effects.begins.map { start($0) })
    }

    /// Returns the waiters to cancel, and the work to end.
    mutating func drain() -> (leaving: [Promise<OAuth2Token>], running: Work?) {
      (state.drained().compactMap { waiting.removeValue(forKey: $0)?.promise }, running?.promise)
    }

    /// Returns the waiters to cancel, and the work to end. The wipe is in progress until `endWipe`.
    mutating func beginWipe() -> Wipe {
      let promise = Promise<Void>()
      wipe = promise
      let leaving = state.resetBegan().compactMap { waiting.removeValue(forKey: $0)?.promise }
      return Wipe(promise: promise, isNew: true, leaving: leaving, running: running?.promise)
    }

    mutating func endWipe(_ now: OAuth2State.Moment) -> (promise: Promise<Void>?, released: Released) {
      (wipe.take(), take(state.resetEnded(at: now)))
    }
  }

  /// The waiters to release, and the work that begins.
  private struct Released {
    let promises: [Promise<OAuth2Token>]
    let outcome: Outcome<OAuth2Token>?
    let begun: Begun?
  }

  /// A wipe that begins, or the wipe in progress.
  private struct Wipe {
    let promise: Promise<Void>
    var isNew = false
    var leaving: [Promise<OAuth2Token>] = []
    var running: Work?
  }

  private let shared: Locked<Shared>
  private let work: any CredentialWork
  private let clock: any FutureClock
  private let date: WallClock

  init(_ state: OAuth2State, _ work: any CredentialWork, clock: any FutureClock, date: WallClock) {
    shared = Locked(Shared(state))
    self.work = work
    self.clock = clock
    self.date = date
  }

  private var now: OAuth2State.Moment { OAuth2State.Moment(date: date.now, time: clock.now) }

  /// Whether no load waits and no work is in flight.
  var isIdle: Bool { shared.withLock { $0.isIdle } }

  /// Registers that a server rejected a token, for a request that cannot be sent again.
  func reject(_ token: OAuth2Token) {
    let now = now
    _ = shared.withLock { $0.state.tokenRejected(token, at: now) }
  }

  /// The latest token, even if a server has rejected it.
  var token: BearerToken? { shared.withLock { $0.state.credential?.accessToken } }

  func ask(_ demand: Demand, over next: (any HTTPLoader)? = nil) -> Answer {
    let now = now
    let asked = shared.withLock { $0.ask(demand, over: next, now) }
    guard let promise = asked.promise else {
      switch asked.answer {
      case .use(let token): return .use(token)
      case .fail(let error): return .fail(error)
      case .wait, nil: return .none
      }
    }
    promise.onRequestCancel { _ in
      self.leave(asked.waiter)
      return .complete(.cancelled)
    }
    if let begun = asked.begun {
      if case .replacement(let credential) = demand { begin(begun, given: credential) } else { begin(begun) }
    }
    return .wait(promise.future.named(.token))
  }

  private func leave(_ waiter: Int) {
    let left = shared.withLock { $0.leave(waiter) }
    left.abandoned?.future.cancel(reason: .of(.abandoned, "no load waits for the credential"))
  }
}

// MARK: - Work

extension OAuth2Session {
  private func begin(_ begun: Begun, given: OAuth2Credential? = nil) {
    begun.promise.future.named("credential: \(begun.work.kind)").observe { self.end(begun.work.number, $0) }
    guard let previous = begun.previous else { return run(begun, given) }
    previous.future.cancel(reason: .of(.superseded, "the credential was replaced"))
    previous.future.observe { _ in self.run(begun, given) }
  }

  private func run(_ begun: Begun, _ given: OAuth2Credential?) {
    if begun.promise.cancelRequest == nil {
      let task = CredentialTask(kind: begun.work.kind, current: begun.current, given: given, next: begun.next)
      begun.promise.seal(onto: work.begin(task))
    } else {
      begun.promise.complete(.cancelled)
    }
  }

  private func end(_ number: Int, _ outcome: Outcome<OAuth2Credential?>) {
    let now = now
    release(shared.withLock { $0.end(number, outcome, now) }.released)
  }

  private func release(_ released: Released) {
    if let outcome = released.outcome {
      for promise in released.promises { promise.complete(with: outcome) }
    }
    if let begun = released.begun { begin(begun) }
  }
}

// MARK: - Resetting

extension OAuth2Session {
  /// Cancels all waiters and the work in flight, and discards its result.
  ///
  /// - Returns: The number of the waiters.
  func drain() -> Int {
    let (leaving, running) = shared.withLock { $0.drain() }
    for promise in leaving { promise.future.cancel(reason: .chainReset) }
    running?.future.cancel(reason: .chainReset)
    return leaving.count
  }

  /// Cancels all waiters and the work in flight, discards its result, and empties the store. Overlapping wipes are
  /// joined. Loads that begin in the meantime wait for its end.
  func wipe() -> Future<Void> {
    let wipe = shared.withLock { shared in shared.wipe.map { Wipe(promise: $0) } ?? shared.beginWipe() }
    let future = wipe.promise.future.shielded()
    guard wipe.isNew else { return future }
    for promise in wipe.leaving { promise.future.cancel(reason: .chainReset) }
    if let running = wipe.running {
      running.future.cancel(reason: .chainReset)
      running.future.observe { _ in self.delete() }
    } else {
      delete()
    }
    return future
  }

  private func delete() {
    work.delete().observe { outcome in
      let now = self.now
      let ended = self.shared.withLock { $0.endWipe(now) }
      ended.promise?.complete(with: outcome)
      self.release(ended.released)
    }
  }
}

extension FutureName {
  fileprivate static let token = FutureName("token")
}
