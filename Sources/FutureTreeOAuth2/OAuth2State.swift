import Foundation
import FutureTree
import FutureTreeHTTP

/// What an `OAuth2` layer knows about its credential, and who waits for it: a value without locks, callbacks and clocks.
///
/// # Invariants
/// 1. One piece of work is under way at most. Its number is in `work`; what ends with another number changes nothing.
/// 2. Somebody waits only while work is under way or a reset is. Each who waits is released once, or leaves.
/// 3. `version` grows with each credential. A token that was rejected is given to nobody again.
/// 4. While a reset is under way nothing is begun, and nothing of the time before it is known.
/// 5. `.ended` is left by a new credential only: by a log-in that somebody asked for, a replacement, or a reset.
struct OAuth2State {
  /// How a credential is had where there is none, or none that can be refreshed.
  enum Source {
    /// A person logs in.
    case logIn
    /// The client asks in its own name, also in place of a refresh.
    case client
    /// From outside only.
    case store
    /// A closure of the app is called when a server rejects the token. Without a token, requests are sent without.
    case renewal
  }

  enum Kind: Equatable {
    /// The store is asked.
    case loading
    /// A page is shown. It is given up when nobody waits.
    case loggingIn
    /// The token endpoint is asked. It is never given up by those who wait.
    case refreshing
    /// A credential from outside is saved.
    case replacing
    /// A closure of the app is called. As a refresh, it is not cancelled by the loads that wait for it.
    case renewing
  }

  struct Work: Equatable {
    let number: Int
    let kind: Kind
    /// Nobody waited for it any more, and it was asked to stop.
    var isAbandoned = false
  }

  struct Live {
    let credential: OAuth2Credential
    let version: Int
    var isRejected = false
  }

  enum Session {
    /// The store was not asked.
    case unknown
    case none
    case live(Live)
    /// The server takes the refresh token no more.
    case ended(HTTPError)
  }

  /// What to do after an event, without the lock.
  struct Effects {
    /// Who waits no more, in the order in which they came, and with what.
    var released: [Int] = []
    var outcome: Outcome<OAuth2Token>?
    /// What begins.
    var begins: Work?
  }

  enum Answer {
    case use(OAuth2Token)
    case fail(HTTPError)
    /// Who asked is remembered, and something may begin.
    case wait(begins: Work?)
  }

  private enum Step {
    case use(OAuth2Token)
    case fail(HTTPError)
    case begin(Kind)
  }

  let source: Source
  let leeway: TimeInterval
  private(set) var session = Session.unknown
  private(set) var work: Work?
  private(set) var isResetting = false
  private(set) var generation = 0
  private(set) var version = 0
  /// How many renewals have failed, and with what the last one did.
  private var failures = 0
  private var failure: HTTPError?
  private var lastWork = 0
  private(set) var waiters: Set<Int> = []
  /// Who wants a log-in when what is under way has ended.
  private(set) var logIns: Set<Int> = []

  init(source: Source, leeway: TimeInterval) {
    self.source = source
    self.leeway = leeway
  }

  /// With a credential that is known from the start, or with none.
  init(source: Source, credential: OAuth2Credential?) {
    self.init(source: source, leeway: 0)
    if credential != nil { version = 1 }
    session = credential.map { .live(Live(credential: $0, version: 1)) } ?? .none
  }

  /// The credential, if there is one.
  var credential: OAuth2Credential? {
    if case .live(let live) = session { live.credential } else { nil }
  }
}

// MARK: - Who wants a token

extension OAuth2State {
  mutating func tokenWanted(by waiter: Int, at now: Date) -> Answer {
    guard work == nil, !isResetting else { return wait(waiter) }
    switch step(at: now) {
    case .use(let token): return .use(token)
    case .fail(let error): return .fail(error)
    case .begin(let kind): return wait(waiter, beginning: kind)
    }
  }

  /// A server did not take a token. Returns nil if there is to be no other: the answer stands.
  mutating func tokenWanted(insteadOf rejected: OAuth2Token, by waiter: Int, at now: Date) -> Answer? {
    guard tokenRejected(rejected) else { return nil }
    // A renewal failed after the request was sent: its server rejects what all of that time have.
    if let failure, rejected.failures < failures, credential?.accessToken == rejected.value { return .fail(failure) }
    guard rejected.value == nil, credential == nil, work == nil else { return tokenWanted(by: waiter, at: now) }
    return wait(waiter, beginning: freshKind)
  }

  /// A server did not take a token. Returns whether the request is to be sent again, with what is wanted then.
  mutating func tokenRejected(_ token: OAuth2Token) -> Bool {
    guard token.generation == generation, !isResetting else { return false }
    if case .live(var live) = session, live.version == token.version {
      live.isRejected = true
      session = .live(live)
    }
    return true
  }

  /// Somebody wants a new log-in, whatever there is.
  mutating func logInWanted(by waiter: Int) -> Answer {
    guard source != .store else { return .fail(OAuth2State.authenticationRequired) }
    let kind = freshKind
    guard work != nil || isResetting else { return wait(waiter, beginning: kind) }
    if let work, work.kind == kind, !work.isAbandoned { return wait(waiter) }
    logIns.insert(waiter)
    return .wait(begins: nil)
  }

  /// A credential comes from outside. What is under way is overtaken: the owner ends it first.
  mutating func credentialGiven(by waiter: Int) -> Answer {
    guard !isResetting else { return .fail(OAuth2State.resetInProgress) }
    return wait(waiter, beginning: .replacing)
  }

  /// Somebody was asked to cancel. Returns whether the work is to be asked as well.
  mutating func waiterLeft(_ waiter: Int) -> Bool {
    logIns.remove(waiter)
    guard waiters.remove(waiter) != nil, waiters.isEmpty, work?.kind == .loggingIn, work?.isAbandoned == false else {
      return false
    }
    work?.isAbandoned = true
    return true
  }

  private mutating func wait(_ waiter: Int, beginning kind: Kind? = nil) -> Answer {
    waiters.insert(waiter)
    return .wait(begins: kind.map { begin($0) })
  }

  private mutating func begin(_ kind: Kind) -> Work {
    lastWork += 1
    let begun = Work(number: lastWork, kind: kind)
    work = begun
    return begun
  }
}

// MARK: - What came of it

extension OAuth2State {
  /// Work has ended; nil is an empty store.
  mutating func workEnded(_ number: Int, _ outcome: Outcome<OAuth2Credential?>, at now: Date) -> Effects {
    guard let ended = work, ended.number == number else { return Effects() }
    work = nil
    switch outcome {
    // Who came while an abandoned log-in was ending did not ask for its end.
    case .failure where ended.isAbandoned && !waiters.isEmpty, .cancelled where ended.isAbandoned && !waiters.isEmpty:
      return beginLogIn(Effects())
    case .success(let credential?):
      version += 1
      session = .live(Live(credential: credential, version: version))
      // What was had just now is used, however short its life is; what was stored may be old.
      return ended.kind == .loading ? goOn(at: now) : release(.success(token(credential)))
    case .success(nil):
      session = .none
      return goOn(at: now)
    case .failure(let error):
      if ended.kind == .refreshing, let error = error as? HTTPError, error.code == .authenticationRequired {
        session = .ended(error)
      }
      if ended.kind == .renewing {
        failures += 1
        failure = error as? HTTPError
      }
      return release(.failure(error))
    case .cancelled(let reason):
      return release(.cancelled(reason))
    }
  }

  /// Everything is forgotten. Returns who is to leave.
  mutating func resetBegan() -> [Int] {
    let leaving = waiters.union(logIns).sorted()
    generation += 1
    isResetting = true
    session = .none
    work = nil
    waiters = []
    logIns = []
    return leaving
  }

  /// The store is empty, or cannot be emptied: it is not asked again.
  mutating func resetEnded(at now: Date) -> Effects {
    isResetting = false
    return goOn(at: now)
  }

  /// Nothing is under way: gives those who wait what there is, or begins what they need.
  private mutating func goOn(at now: Date) -> Effects {
    if !logIns.isEmpty { return beginLogIn(Effects()) }
    guard !waiters.isEmpty else { return Effects() }
    switch step(at: now) {
    case .use(let token): return release(.success(token))
    case .fail(let error): return release(.failure(error))
    case .begin(let kind): return Effects(begins: begin(kind))
    }
  }

  private mutating func release(_ outcome: Outcome<OAuth2Token>) -> Effects {
    let effects = Effects(released: waiters.sorted(), outcome: outcome)
    waiters = []
    return logIns.isEmpty ? effects : beginLogIn(effects)
  }

  private mutating func beginLogIn(_ effects: Effects) -> Effects {
    waiters.formUnion(logIns)
    logIns = []
    var effects = effects
    effects.begins = begin(freshKind)
    return effects
  }

  /// What somebody who wants a token gets, when nothing is under way.
  private func step(at now: Date) -> Step {
    switch session {
    case .unknown: return .begin(.loading)
    case .none where source == .renewal:
      return .use(OAuth2Token(value: nil, version: version, generation: generation, failures: failures))
    case .none: return renewal(of: nil)
    case .ended(let error): return .fail(error)
    case .live(let live):
      let isFresh = live.credential.expires.map { now.addingTimeInterval(leeway) < $0 } ?? true
      return isFresh && !live.isRejected ? .use(token(live.credential)) : renewal(of: live.credential)
    }
  }

  private func renewal(of credential: OAuth2Credential?) -> Step {
    if credential?.refreshToken != nil { return .begin(.refreshing) }
    return source == .store ? .fail(OAuth2State.authenticationRequired) : .begin(freshKind)
  }

  /// How a credential is had that is not made of the one that there is.
  private var freshKind: Kind {
    switch source {
    case .logIn, .store: .loggingIn
    case .client: .refreshing
    case .renewal: .renewing
    }
  }

  private func token(_ credential: OAuth2Credential) -> OAuth2Token {
    OAuth2Token(value: credential.accessToken, version: version, generation: generation, failures: failures)
  }

  static let authenticationRequired = HTTPError(
    .authenticationRequired,
    "There is no credential, and none that could be refreshed. Log in, and give the layer what comes of it.")

  static let resetInProgress = HTTPError(
    .resetInProgress, "The credential is being deleted by a reset. Give the new one when the reset has ended.")
}
