import Foundation
import FutureTree
import FutureTreeHTTP
import TestSupport
import Testing

@testable import FutureTreeOAuth2

@Suite("OAuth2State")
struct OAuth2StateTests {
  private let now = OAuth2StateTests.at(1000)
  private let credential = OAuth2Credential(
    accessToken: try! BearerToken("a1"), refreshToken: "r1", expires: Date(timeIntervalSince1970: 2000))

  private static func at(_ seconds: Double) -> OAuth2State.Moment {
    OAuth2State.Moment(date: Date(timeIntervalSince1970: seconds), time: .seconds(seconds))
  }

  private func token(_ version: Int, failures: Int = 0) -> OAuth2Token {
    OAuth2Token(value: credential.accessToken, version: version, generation: 0, failures: failures)
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
    var state = OAuth2State(source: source, leeway: 60, limit: Throttle.Rate(10, per: .seconds(60), burst: 2))
    _ = state.tokenWanted(by: 1, at: now)
    _ = state.workEnded(1, .success(credential), at: now)
    return state
  }

  @Test("The first load reads the store, later ones wait, and all are released in order")
  func loading() {
    var state = OAuth2State(source: .store, leeway: 60, limit: nil)

    let answers = [9, 2, 5].map { text(state.tokenWanted(by: $0, at: now)) }
    let effects = state.workEnded(1, .success(credential), at: now)

    expectEqual(answers, ["begin loading 1", "wait", "wait"])
    #expect(effects.released == [2, 5, 9] && effects.outcome == .success(token(1)) && effects.begins == nil)
    let later = [now, Self.at(1940)].map { text(state.tokenWanted(by: 10, at: $0)) }
    expectEqual(later, ["use 1", "begin refreshing 2"])
  }

  @Test("The end of work with another number changes nothing")
  func staleWork() {
    var state = makeLive()
    _ = state.credentialGiven(by: 2, at: now)

    let effects = [1, 3].map { state.workEnded($0, .success(nil), at: now) }

    #expect(effects.allSatisfy { $0.released.isEmpty && $0.begins == nil })
    expectEqual(state.work?.number, 2)
  }

  @Test("A rejected token is not used, an older rejection changes nothing, and one from before a reset is final")
  func rejected() {
    var state = makeLive()
    let older = (state.tokenRejected(token(0), at: now), text(state.tokenWanted(by: 2, at: now)))
    let current = (state.tokenRejected(token(1), at: now), text(state.tokenWanted(by: 3, at: now)))
    #expect(older == (true, "use 1"))
    #expect(current == (true, "begin refreshing 2"))

    let leaving = state.resetBegan()
    let during = (state.tokenRejected(token(1), at: now), text(state.tokenWanted(by: 4, at: now)))
    #expect(leaving == [3] && during == (false, "wait"))
    let late = state.workEnded(2, .success(credential), at: now)
    let effects = state.resetEnded(at: now)

    #expect(late.released.isEmpty && state.credential == nil)
    let isReplayed = state.tokenRejected(token(1), at: now)
    #expect(effects.released == [4] && !isReplayed && !state.isResetting)
  }

  @Test("Only a login is abandoned, once, when the last waiter leaves")
  func abandoned() {
    var state = OAuth2State(source: .logIn, leeway: 60, limit: nil)
    _ = state.tokenWanted(by: 1, at: now)
    let isStoreGivenUp = state.waiterLeft(1)
    #expect(!isStoreGivenUp)
    _ = state.tokenWanted(by: 2, at: now)
    _ = state.tokenWanted(by: 3, at: now)
    let effects = state.workEnded(1, .success(nil), at: now)
    expectEqual(effects.begins?.kind, .loggingIn)
    #expect(effects.released.isEmpty)

    let isGivenUp = [2, 2, 3, 3].map { state.waiterLeft($0) }
    expectEqual(isGivenUp, [false, false, true, false])

    _ = state.tokenWanted(by: 4, at: now)
    let isGivenUpAgain = state.waiterLeft(4)
    #expect(!isGivenUpAgain)
    _ = state.tokenWanted(by: 5, at: now)
    let again = state.workEnded(2, .cancelled("closed"), at: now)
    #expect(again.released.isEmpty)
    expectEqual(again.begins?.number, 3)
    expectEqual(again.begins?.isAbandoned, false)
  }

  @Test("A terminal refusal lasts until a new credential is set")
  func ended() {
    var state = makeLive()
    let refused = RenewalFailure(HTTPError(.authenticationRequired, "log in"), isFinal: true)
    _ = state.tokenRejected(token(1), at: now)
    _ = state.tokenWanted(by: 2, at: now)
    let effects = state.workEnded(2, .failure(refused), at: now)
    let before = text(state.tokenWanted(by: 3, at: now))

    let given = text(state.credentialGiven(by: 4, at: now))
    let replaced = state.workEnded(3, .success(credential), at: now)
    let after = text(state.tokenWanted(by: 5, at: now))

    #expect(effects.released == [2] && replaced.outcome == .success(token(2, failures: 1)))
    expectEqual([before, given, after], ["authenticationRequired", "begin replacing 3", "use 2"])
  }

  @Test("Failed refreshes are limited, and a rejected token is not given out meanwhile")
  func limited() {
    var state = makeLive()
    _ = state.tokenRejected(token(1), at: now)

    var answers: [String] = []
    for waiter in 2..<5 {
      answers.append(text(state.tokenWanted(by: waiter, at: now)))
      if let work = state.work { _ = state.workEnded(work.number, .failure(RenewalFailure(failure)), at: now) }
    }
    let later = [1005.9, 1006].map { text(state.tokenWanted(by: 9, at: Self.at($0))) }

    expectEqual(answers, ["begin refreshing 2", "begin refreshing 3", "refreshPaused"])
    expectEqual(later, ["refreshPaused", "begin refreshing 4"])
  }

  @Test("While refreshes are paused, a token that has not expired stays in use, and its rejection is the response")
  func paused() {
    var state = makeLive()
    _ = state.tokenWanted(by: 2, at: Self.at(1940))
    _ = state.workEnded(2, .failure(RenewalFailure(failure, pause: .seconds(90))), at: Self.at(1940))

    let inLeeway = text(state.tokenWanted(by: 3, at: Self.at(1999)))
    let isReplayed = state.tokenRejected(token(1), at: Self.at(1999))
    let expired = [2000, 2029, 2030].map { text(state.tokenWanted(by: 4, at: Self.at($0))) }

    expectEqual(inLeeway, "use 1")
    #expect(!isReplayed)
    expectEqual(expired, ["refreshPaused", "refreshPaused", "begin refreshing 3"])
  }

  @Test("A refresh that succeeds costs nothing, unless the token before it was rejected")
  func counted() {
    var state = makeLive()
    let now = Self.at(2000)
    let lasting = OAuth2Credential(accessToken: credential.accessToken, refreshToken: "r1")

    let expired = (2...10).map { number in
      defer { _ = state.workEnded(number, .success(number < 10 ? credential : lasting), at: now) }
      return text(state.tokenWanted(by: number, at: now))
    }
    let rejected = (10...12).map { number in
      defer { _ = state.workEnded(number + 1, .success(lasting), at: now) }
      return state.tokenWanted(insteadOf: token(number), by: number, at: now).map(text)
    }

    expectEqual(expired, (2...10).map { "begin refreshing \($0)" })
    expectEqual(rejected, ["begin refreshing 11", "begin refreshing 12", nil], "the third rejection is the response")
  }

  @Test("A requested login is not limited, and its credential lifts the limit")
  func lifted() {
    var state = makeLive(.client)
    _ = state.workEnded(1, .success(nil), at: now)
    _ = state.tokenRejected(token(1), at: now)
    for number in 2..<4 {
      _ = state.tokenWanted(by: number, at: now)
      _ = state.workEnded(number, .failure(RenewalFailure(failure)), at: now)
    }

    let refused = text(state.tokenWanted(by: 5, at: now))
    let requested = text(state.logInWanted(by: 6, at: now))
    _ = state.credentialGiven(by: 7, at: now)
    _ = state.workEnded(5, .success(credential), at: now)
    let isReplayed = state.tokenRejected(token(2), at: now)

    expectEqual(refused, "refreshPaused")
    expectEqual(requested, "begin refreshing 4")
    #expect(isReplayed)
  }

  private let failure = HTTPError(.tokenRequestFailed, "later")
}
