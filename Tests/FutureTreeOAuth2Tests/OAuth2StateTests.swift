import Foundation
import FutureTree
import FutureTreeHTTP
import Testing

@testable import FutureTreeOAuth2

@Suite("OAuth2State")
struct OAuth2StateTests {
  private let now = Date(timeIntervalSince1970: 1000)
  private let credential = OAuth2Credential(
    accessToken: try! BearerToken("a1"), refreshToken: "r1", expires: Date(timeIntervalSince1970: 2000))

  private func token(_ version: Int, _ generation: Int = 0) -> OAuth2Token {
    OAuth2Token(value: credential.accessToken, version: version, generation: generation, failures: 0)
  }

  private func text(_ answer: OAuth2State.Answer) -> String {
    switch answer {
    case .use(let token): "use \(token.version)"
    case .fail(let error): "\(error.code)"
    case .wait(let work): work.map { "begin \($0.kind) \($0.number)" } ?? "wait"
    }
  }

  /// Returns a state with the credential as version 1.
  private func makeLive(_ source: OAuth2State.Source = .store) -> OAuth2State {
    var state = OAuth2State(source: source, leeway: 60)
    _ = state.tokenWanted(by: 1, at: now)
    _ = state.workEnded(1, .success(credential), at: now)
    return state
  }

  @Test("The first load reads the store, later ones wait, and all are released in order")
  func loading() {
    var state = OAuth2State(source: .store, leeway: 60)

    let answers = [9, 2, 5].map { text(state.tokenWanted(by: $0, at: now)) }
    let effects = state.workEnded(1, .success(credential), at: now)

    #expect(answers == ["begin loading 1", "wait", "wait"])
    #expect(effects.released == [2, 5, 9] && effects.outcome == .success(token(1)) && effects.begins == nil)
    let later = [now, Date(timeIntervalSince1970: 1940)].map { text(state.tokenWanted(by: 10, at: $0)) }
    #expect(later == ["use 1", "begin refreshing 2"])
  }

  @Test("The end of work with another number changes nothing")
  func staleWork() {
    var state = makeLive()
    _ = state.credentialGiven(by: 2)

    let effects = [1, 3].map { state.workEnded($0, .success(nil), at: now) }

    #expect(effects.allSatisfy { $0.released.isEmpty && $0.begins == nil } && state.work?.number == 2)
  }

  @Test("A rejected token is not used, an older rejection changes nothing, and one from before a reset is final")
  func rejected() {
    var state = makeLive()
    let older = (state.tokenRejected(token(0)), text(state.tokenWanted(by: 2, at: now)))
    let current = (state.tokenRejected(token(1)), text(state.tokenWanted(by: 3, at: now)))
    #expect(older == (true, "use 1") && current == (true, "begin refreshing 2"))

    let leaving = state.resetBegan()
    let during = (state.tokenRejected(token(1)), text(state.tokenWanted(by: 4, at: now)))
    #expect(leaving == [3] && during == (false, "wait"))
    let late = state.workEnded(2, .success(credential), at: now)
    let effects = state.resetEnded(at: now)

    #expect(late.released.isEmpty && state.credential == nil)
    let isReplayed = state.tokenRejected(token(1))
    #expect(effects.released == [4] && !isReplayed && !state.isResetting)
  }

  @Test("Only a login is abandoned, once, when the last waiter leaves")
  func abandoned() {
    var state = OAuth2State(source: .logIn, leeway: 60)
    _ = state.tokenWanted(by: 1, at: now)
    let isStoreGivenUp = state.waiterLeft(1)
    #expect(!isStoreGivenUp)
    _ = state.tokenWanted(by: 2, at: now)
    _ = state.tokenWanted(by: 3, at: now)
    let effects = state.workEnded(1, .success(nil), at: now)
    #expect(effects.begins?.kind == .loggingIn && effects.released.isEmpty)

    let isGivenUp = [2, 2, 3, 3].map { state.waiterLeft($0) }
    #expect(isGivenUp == [false, false, true, false])

    _ = state.tokenWanted(by: 4, at: now)
    let isGivenUpAgain = state.waiterLeft(4)
    #expect(!isGivenUpAgain)
    _ = state.tokenWanted(by: 5, at: now)
    let again = state.workEnded(2, .cancelled("closed"), at: now)
    #expect(again.released.isEmpty && again.begins?.number == 3 && again.begins?.isAbandoned == false)
  }

  @Test("A terminal refusal lasts until a new credential is set")
  func ended() {
    var state = makeLive()
    _ = state.tokenRejected(token(1))
    _ = state.tokenWanted(by: 2, at: now)
    let effects = state.workEnded(2, .failure(HTTPError(.authenticationRequired, "log in")), at: now)
    let before = text(state.tokenWanted(by: 3, at: now))

    let given = text(state.credentialGiven(by: 4))
    let replaced = state.workEnded(3, .success(credential), at: now)
    let after = text(state.tokenWanted(by: 5, at: now))

    #expect(effects.released == [2] && replaced.outcome == .success(token(2)))
    #expect([before, given, after] == ["authenticationRequired", "begin replacing 3", "use 2"])
  }
}
