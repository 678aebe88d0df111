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
/// 6. A renewal that `limit` refuses does not begin, except by a login that was requested. Until it may begin, a token that has
///    not expired stays in use: a response that rejects it is the response of its load.
struct OAuth2State {
  /// The time of an event: the date for the expiry of tokens, and the time of a `FutureClock` for the limit.
  struct Moment {
    let date: Date
    let time: Duration
  }

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
    /// Whether a server rejected the token that it renews.
    let isForRejection: Bool
    /// Whether no load waited for it anymore, and it was asked to cancel.
    var isAbandoned = false

    /// Whether it counts toward the limit of renewals.
    var isRenewal: Bool { kind == .refreshing || kind == .renewing }
  }

  struct Live {
    let credential: OAuth2Credential
    let version: Int
    /// The date from which it is renewed before it is used.
    let refreshDate: Date?
    var isRejected = false
  }

  enum Session {
    /// The store has not been read.
    case unknown
    case none
    case live(Live)
    /// A server refused a renewal, and would refuse it again. If there was no token, requests are still sent without one.
    case ended(HTTPError, hadToken: Bool)
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
  private var limit: RenewalLimit
  /// Whether a 401 without any credential begins a renewal.
  var renewsMissingToken = true
  private(set) var session = Session.unknown
  private(set) var work: Work?
  private(set) var isResetting = false
  private(set) var (generation, version) = (0, 0)
  /// The number of failed renewals.
  private var (failures, lastWork) = (0, 0)
  private(set) var waiters: Set<Int> = []
  /// The waiters that need a login after the work in flight.
  private(set) var logIns: Set<Int> = []

  init(source: Source, leeway: TimeInterval, limit: Throttle.Rate?) {
    self.source = source
    self.leeway = leeway
    self.limit = RenewalLimit(limit)
  }

  /// Creates a state with a known credential that does not expire, or with none.
  init(source: Source, credential: OAuth2Credential?, limit: Throttle.Rate?) {
    self.init(source: source, leeway: 0, limit: limit)
    if credential != nil { version = 1 }
    session = credential.map { .live(Live(credential: $0, version: 1, refreshDate: nil)) } ?? .none
  }

  /// The credential, if there is one.
  var credential: OAuth2Credential? {
    if case .live(let live) = session { live.credential } else { nil }
  }
}

// MARK: - Requesting a token

extension OAuth2State {
  mutating func tokenWanted(by waiter: Int, at now: Moment) -> Answer {
    guard work == nil, !isResetting else { return wait(waiter, at: now) }
    switch step(at: now) {
    case .use(let token): return .use(token)
    case .fail(let error): return .fail(error)
    case .begin(let kind): return wait(waiter, beginning: kind, at: now)
    }
  }

  /// Registers that a server rejected a token, and requests another. Returns `nil` if the response stands.
  mutating func tokenWanted(insteadOf rejected: OAuth2Token, by waiter: Int, at now: Moment) -> Answer? {
    guard tokenRejected(rejected, at: now) else { return nil }
    // A renewal failed after the request was sent: the server rejects all tokens from before that renewal.
    if let failure = limit.failure, rejected.failures < failures, credential?.accessToken == rejected.value {
      return .fail(failure)
    }
    guard rejected.value == nil, credential == nil, work == nil else { return tokenWanted(by: waiter, at: now) }
    if case .ended(let error, _) = session { return .fail(error) }
    guard renewsMissingToken else { return nil }
    return limit.error(at: now.time) == nil ? wait(waiter, beginning: freshKind, at: now) : nil
  }

  /// Registers that a server rejected a token. Returns whether the request may be sent again.
  mutating func tokenRejected(_ token: OAuth2Token, at now: Moment) -> Bool {
    guard token.generation == generation, !isResetting else { return false }
    guard case .live(var live) = session, live.version == token.version, !live.isRejected else { return true }
    if work == nil, isPaused(live.credential, at: now) { return false }
    live.isRejected = true
    session = .live(live)
    return true
  }

  /// Requests a new login, regardless of the current credential.
  mutating func logInWanted(by waiter: Int, at now: Moment) -> Answer {
    guard source != .store else { return .fail(OAuth2State.authenticationRequired) }
    let kind = freshKind
    guard work != nil || isResetting else { return wait(waiter, beginning: kind, at: now) }
    if let work, work.kind == kind, !work.isAbandoned { return wait(waiter, at: now) }
    logIns.insert(waiter)
    return .wait(begins: nil)
  }

  /// Registers a credential from outside. It replaces the work in flight, which the owner ends first.
  mutating func credentialGiven(by waiter: Int, at now: Moment) -> Answer {
    guard !isResetting else { return .fail(OAuth2State.resetInProgress) }
    return wait(waiter, beginning: .replacing, at: now)
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

  private mutating func wait(_ waiter: Int, beginning kind: Kind? = nil, at now: Moment) -> Answer {
    waiters.insert(waiter)
    return .wait(begins: kind.map { begin($0, at: now) })
  }

  private mutating func begin(_ kind: Kind, at now: Moment) -> Work {
    lastWork += 1
    let isRejected = if case .live(let live) = session { live.isRejected } else { source == .renewal }
    let begun = Work(number: lastWork, kind: kind, isForRejection: isRejected)
    if begun.isRenewal { limit.began(at: now.time) }
    work = begun
    return begun
  }
}

// MARK: - Results of work

extension OAuth2State {
  /// Registers that work has ended. A `nil` credential means that the store is empty.
  mutating func workEnded(_ number: Int, _ outcome: Outcome<OAuth2Credential?>, at now: Moment) -> Effects {
    guard let ended = work, ended.number == number else { return Effects() }
    work = nil
    switch outcome {
    // Waiters that arrived while an abandoned login was ending did not request its cancellation.
    case .failure where ended.isAbandoned && !waiters.isEmpty, .cancelled where ended.isAbandoned && !waiters.isEmpty:
      return beginLogIn(Effects(), at: now)
    case .success(let credential?):
      version += 1
      session = .live(live(credential, from: ended.kind, at: now))
      if !ended.isRenewal { limit.clear() } else if !ended.isForRejection { limit.putBack() }
      // A new credential is used even if it expires soon. A stored credential may be old.
      return ended.kind == .loading ? goOn(at: now) : release(.success(token(credential)), at: now)
    case .success(nil):
      session = .none
      return goOn(at: now)
    case .failure(let error):
      guard let failure = error as? RenewalFailure else { return release(.failure(error), at: now) }
      if failure.isFinal { end(ended, failure.error) }
      if ended.isRenewal {
        failures += 1
        limit.failed(failure, at: now.time)
      }
      return release(.failure(failure.error), at: now)
    case .cancelled(let reason):
      return release(.cancelled(reason), at: now)
    }
  }

  /// Ends the session, unless a login was requested although there is a token that no server has rejected.
  private mutating func end(_ work: Work, _ error: HTTPError) {
    if work.kind == .loggingIn, case .live(let live) = session, !live.isRejected { return }
    session = .ended(error, hadToken: source != .renewal || credential != nil)
  }

  /// Returns a new credential. Only a token from the store is renewed with the whole leeway, because its lifetime is unknown.
  private func live(_ credential: OAuth2Credential, from kind: Kind, at now: Moment) -> Live {
    let refreshDate = credential.expires.map { expires in
      let life = max(expires.timeIntervalSince(now.date), 0)
      return expires.addingTimeInterval(-(kind == .loading ? leeway : min(leeway, life * OAuth2State.leewayShare)))
    }
    return Live(credential: credential, version: version, refreshDate: refreshDate)
  }

  /// The largest share of a token's lifetime that the leeway can be.
  private static let leewayShare = 0.25

  /// Removes all data. Returns the waiters to cancel.
  mutating func resetBegan() -> [Int] {
    generation += 1
    isResetting = true
    limit.clear()
    session = .none
    return drained()
  }

  /// Discards the result of the work in flight. Returns the waiters to cancel. The credential stays.
  mutating func drained() -> [Int] {
    defer { (work, waiters, logIns) = (nil, [], []) }
    return waiters.union(logIns).sorted()
  }

  /// Registers that the reset has ended. The store is empty or could not be emptied, and is not read again.
  mutating func resetEnded(at now: Moment) -> Effects {
    isResetting = false
    return goOn(at: now)
  }

  /// Continues when no work is in flight: releases the waiters, or begins the work that they need.
  private mutating func goOn(at now: Moment) -> Effects {
    if !logIns.isEmpty { return beginLogIn(Effects(), at: now) }
    guard !waiters.isEmpty else { return Effects() }
    switch step(at: now) {
    case .use(let token): return release(.success(token), at: now)
    case .fail(let error): return release(.failure(error), at: now)
    case .begin(let kind): return Effects(begins: begin(kind, at: now))
    }
  }

  private mutating func release(_ outcome: Outcome<OAuth2Token>, at now: Moment) -> Effects {
    let effects = Effects(released: waiters.sorted(), outcome: outcome)
    waiters = []
    return logIns.isEmpty ? effects : beginLogIn(effects, at: now)
  }

  private mutating func beginLogIn(_ effects: Effects, at now: Moment) -> Effects {
    waiters.formUnion(logIns)
    logIns = []
    var effects = effects
    effects.begins = begin(freshKind, at: now)
    return effects
  }

  /// Returns the step for a caller that needs a token, when no work is in flight.
  private mutating func step(at now: Moment) -> Step {
    switch session {
    case .unknown: return .begin(.loading)
    case .none where source == .renewal, .ended(_, hadToken: false): return .use(token(nil))
    case .none: return renewal(of: nil, at: now)
    case .ended(let error, _): return .fail(error)
    case .live(let live):
      let isFresh = live.refreshDate.map { now.date < $0 } ?? true
      if !live.isRejected, isFresh || isPaused(live.credential, at: now) { return .use(token(live.credential)) }
      return renewal(of: live.credential, at: now)
    }
  }

  /// Whether a token has not expired, but must not be renewed yet.
  private mutating func isPaused(_ credential: OAuth2Credential, at now: Moment) -> Bool {
    guard credential.expires.map({ now.date < $0 }) ?? true, case .fail(let error) = renewal(of: credential, at: now)
    else { return false }
    return error.code == .refreshPaused
  }

  private mutating func renewal(of credential: OAuth2Credential?, at now: Moment) -> Step {
    if credential?.refreshToken == nil {
      if source == .store { return .fail(OAuth2State.authenticationRequired) }
      if source == .logIn { return .begin(.loggingIn) }
    }
    if let error = limit.error(at: now.time) { return .fail(error) }
    return .begin(credential?.refreshToken == nil ? freshKind : .refreshing)
  }

  /// The kind of work that gets a credential without the current one.
  private var freshKind: Kind {
    switch source {
    case .logIn, .store: .loggingIn
    case .client: .refreshing
    case .renewal: .renewing
    }
  }

  private func token(_ credential: OAuth2Credential?) -> OAuth2Token {
    OAuth2Token(value: credential?.accessToken, version: version, generation: generation, failures: failures)
  }

  static let authenticationRequired = HTTPError(
    .authenticationRequired,
    "There is no credential, and no refresh token. Log in, and pass the new credential to the layer.")

  static let resetInProgress = HTTPError(
    .resetInProgress, "The credential cannot be replaced during a reset. Pass the new credential after the reset.")
}
