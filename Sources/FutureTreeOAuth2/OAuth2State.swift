import Foundation
import FutureTree
import FutureTreeHTTP

/// The state of the credential of an `OAuth2` layer, and of its waiters. Pure: uses no lock, closure or clock.
///
/// # Invariants
/// 1. At most one piece of work is in flight; `work` has its number. The end of other work changes nothing.
/// 2. Waiters exist only during work or a reset. Each waiter is released once, or leaves.
/// 3. `version` grows with each credential. A rejected token is never given out again.
/// 4. During a reset no work begins, and no earlier data is known.
/// 5. Only a new credential changes `.ended`: by a login that was requested, a replacement, or a reset.
struct OAuth2State {
  /// The source of a credential if there is none, or none that can be refreshed.
  enum Source {
    /// A user logs in.
    case logIn
    /// The client requests a token in its own name. It also does so instead of a refresh.
    case client
    /// The credential comes only from outside.
    case store
    /// A closure of the app is called after a 401. If there is no token, requests are sent without one.
    case renewal
  }

  enum Kind: Equatable {
    /// The store is read.
    case loading
    /// A page is shown. It is cancelled when no load waits for it.
    case loggingIn
    /// The token endpoint is called. The loads that wait for it never cancel it.
    case refreshing
    /// A credential from outside is saved.
    case replacing
    /// A closure of the app is called. The loads that wait for it never cancel it, as with a refresh.
    case renewing
  }

  struct Work: Equatable {
    let number: Int
    let kind: Kind
    /// Whether no load waited for it anymore, and it was asked to cancel.
    var isAbandoned = false
  }

  struct Live {
    let credential: OAuth2Credential
    let version: Int
    var isRejected = false
  }

  enum Session {
    /// The store has not been read.
    case unknown
    case none
    case live(Live)
    /// The server no longer accepts the refresh token.
    case ended(HTTPError)
  }

  /// The effects of an event, to be performed outside the lock.
  struct Effects {
    /// The waiters to release with `outcome`, in the order of their arrival.
    var released: [Int] = []
    var outcome: Outcome<OAuth2Token>?
    /// The work that begins.
    var begins: Work?
  }

  enum Answer {
    case use(OAuth2Token)
    case fail(HTTPError)
    /// The caller is registered as a waiter, and work may begin.
    case wait(begins: Work?)
  }

  private enum Step {
    case use(OAuth2Token)
    case fail(HTTPError)
    case begin(Kind)
  }

  let source: Source
  let leeway: TimeInterval
  /// Whether a 401 without any credential begins a renewal.
  var renewsMissingToken = true
  private(set) var session = Session.unknown
  private(set) var work: Work?
  private(set) var isResetting = false
  private(set) var (generation, version) = (0, 0)
  /// The number of failed renewals, and the error of the last one.
  private var (failures, lastWork) = (0, 0)
  private var failure: HTTPError?
  private(set) var waiters: Set<Int> = []
  /// The waiters that need a login after the work in flight.
  private(set) var logIns: Set<Int> = []

  init(source: Source, leeway: TimeInterval) {
    self.source = source
    self.leeway = leeway
  }

  /// Creates a state with a known credential, or with none.
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

// MARK: - Requesting a token

extension OAuth2State {
  mutating func tokenWanted(by waiter: Int, at now: Date) -> Answer {
    guard work == nil, !isResetting else { return wait(waiter) }
    switch step(at: now) {
    case .use(let token): return .use(token)
    case .fail(let error): return .fail(error)
    case .begin(let kind): return wait(waiter, beginning: kind)
    }
  }

  /// Registers that a server rejected a token, and requests another. Returns `nil` if the response stands.
  mutating func tokenWanted(insteadOf rejected: OAuth2Token, by waiter: Int, at now: Date) -> Answer? {
    guard tokenRejected(rejected) else { return nil }
    // A renewal failed after the request was sent: the server rejects all tokens from before that renewal.
    if let failure, rejected.failures < failures, credential?.accessToken == rejected.value { return .fail(failure) }
    guard rejected.value == nil, credential == nil, work == nil else { return tokenWanted(by: waiter, at: now) }
    return renewsMissingToken ? wait(waiter, beginning: freshKind) : nil
  }

  /// Registers that a server rejected a token. Returns whether the request may be sent again.
  mutating func tokenRejected(_ token: OAuth2Token) -> Bool {
    guard token.generation == generation, !isResetting else { return false }
    if case .live(var live) = session, live.version == token.version {
      live.isRejected = true
      session = .live(live)
    }
    return true
  }

  /// Requests a new login, regardless of the current credential.
  mutating func logInWanted(by waiter: Int) -> Answer {
    guard source != .store else { return .fail(OAuth2State.authenticationRequired) }
    let kind = freshKind
    guard work != nil || isResetting else { return wait(waiter, beginning: kind) }
    if let work, work.kind == kind, !work.isAbandoned { return wait(waiter) }
    logIns.insert(waiter)
    return .wait(begins: nil)
  }

  /// Registers a credential from outside. It replaces the work in flight, which the owner ends first.
  mutating func credentialGiven(by waiter: Int) -> Answer {
    guard !isResetting else { return .fail(OAuth2State.resetInProgress) }
    return wait(waiter, beginning: .replacing)
  }

  /// Registers that a waiter was cancelled. Returns whether the work is asked to cancel as well.
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

// MARK: - Results of work

extension OAuth2State {
  /// Registers that work has ended. A `nil` credential means that the store is empty.
  mutating func workEnded(_ number: Int, _ outcome: Outcome<OAuth2Credential?>, at now: Date) -> Effects {
    guard let ended = work, ended.number == number else { return Effects() }
    work = nil
    switch outcome {
    // Waiters that arrived while an abandoned login was ending did not request its cancellation.
    case .failure where ended.isAbandoned && !waiters.isEmpty, .cancelled where ended.isAbandoned && !waiters.isEmpty:
      return beginLogIn(Effects())
    case .success(let credential?):
      version += 1
      session = .live(Live(credential: credential, version: version))
      // A new credential is used even if it expires soon. A stored credential may be old.
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

  /// Removes all data. Returns the waiters to cancel.
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

  /// Registers that the reset has ended. The store is empty or could not be emptied, and is not read again.
  mutating func resetEnded(at now: Date) -> Effects {
    isResetting = false
    return goOn(at: now)
  }

  /// Continues when no work is in flight: releases the waiters, or begins the work that they need.
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

  /// Returns the step for a caller that needs a token, when no work is in flight.
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

  /// The kind of work that gets a credential without the current one.
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
    "There is no credential, and no refresh token. Log in, and pass the new credential to the layer.")

  static let resetInProgress = HTTPError(
    .resetInProgress, "The credential cannot be replaced during a reset. Pass the new credential after the reset.")
}
