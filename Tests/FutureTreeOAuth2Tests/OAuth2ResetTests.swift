import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeOAuth2

/// A credential store whose operations the test completes.
private final class HeldStore: CredentialStore {
  let log = Recorder()
  let loads = Promise<OAuth2Credential?>()
  let saves = Promise<Void>()
  let deletes = Promise<Void>()

  func load() -> Future<OAuth2Credential?> {
    log("load")
    return loads.future
  }

  func save(_ credential: OAuth2Credential) -> Future<Void> {
    log("save \(credential.accessToken.text)")
    return saves.future
  }

  func delete() -> Future<Void> {
    log("delete")
    return deletes.future
  }
}

@Suite("Layers: OAuth2, reset")
struct OAuth2ResetTests {
  private let tokens = HeldResets()
  private let end = HeldResets()
  private let store = HeldStore()
  private let clock = ManualClock()
  private let failures = Recorder()

  private func makeLayer(_ grant: OAuth2Grant = .storedCredential) -> OAuth2 {
    OAuth2(
      OAuth2Configuration(
        client: .public(id: "app"), tokenEndpoint: try! HTTPURL("https://id.example.com/token"), grant: grant),
      store: store, tokens: tokens, clock: clock, date: clock.wallClock(), random: .seeded(1),
      onSaveFailure: { [failures] in failures("\($0)") })
  }

  private let request = try! HTTPRequest("https://api.example.com/")
  private let old = OAuth2Credential(
    accessToken: try! BearerToken("a1"), refreshToken: "r1", expires: Date(timeIntervalSince1970: 0))

  @Test("A reset empties the store after a pending save, and a waiting load does not get the saved credential")
  func duringSave() {
    let layer = makeLayer()
    let api = layer --> end
    store.loads.succeed(old)
    tokens.mock.answer(body: OAuth2Rig.json(2))
    let load = api.load(request)
    expectEqual(store.log.entries, ["load", "save a2"])
    expectEqual(load.text, "pending")

    let reset = api.reset()
    expectEqual(load.text, "cancelled")
    expectEqual(store.log.entries, ["load", "save a2"])
    #expect(store.saves.cancelRequest == nil)
    expectEqual(end.resetCount, 1)
    expectEqual(tokens.resetCount, 1)
    end.endReset()
    tokens.endReset()
    let during = api.load(request)
    expectEqual(store.log.entries, ["load", "save a2"])
    store.saves.succeed()
    expectEqual(store.log.entries.last, "delete")
    expectEqual(during.text, "pending")
    store.deletes.succeed()
    #expect(during.text == "authenticationRequired" && store.log.entries.count == 3, "the store is not loaded again")

    expectEqual(reset.text, "success")
    expectEqual(end.log.entries, ["end resets"])
    #expect(layer.isIdle)
    expectEqual(clock.timerCount, 0)
  }

  @Test("Every part is reset even if one fails, and an undeleted credential is not used")
  func failing() {
    let layer = makeLayer()
    let api = layer --> end
    store.loads.succeed(old)

    let reset = api.reset()
    tokens.endReset(0, .failure(Oops(name: "tokens")))
    store.deletes.fail(Oops(name: "disk"))
    expectEqual(reset.text, "pending")
    expectEqual(end.resetCount, 1)
    end.endReset(0, .failure(Oops(name: "end")))

    guard case .failure(let error as ResetFailed)? = reset.outcomeIfCompleted else {
      Issue.record("\(reset.text)")
      return
    }
    expectEqual(
      error.errors.map { ($0 as? HTTPError)?.code.description ?? "\($0)" },
      [
        "credentialStoreFailed", "tokens", "end",
      ])
    expectEqual(api.load(request).text, "authenticationRequired")
    expectEqual(store.log.entries, ["delete"])
    #expect(layer.isIdle)
  }

  @Test("Overlapping resets delete once, and each resets its own next loader")
  func overlapping() {
    let layer = makeLayer()
    let other = HeldResets()
    let resets = [(layer --> end).reset(), (layer --> other).reset()]

    expectEqual(end.resetCount, 1)
    expectEqual(other.resetCount, 1)
    expectEqual(tokens.resetCount, 2)
    #expect(store.log.entries.isEmpty)
    for loader in [end, other] { loader.endReset() }
    for number in 0...1 { tokens.endReset(number) }
    expectEqual(store.log.entries, ["delete"])
    expectEqual(layer.replaceCredential(with: old).text, "resetInProgress")
    resets[0].cancel()
    store.deletes.succeed()

    expectEqual(resets.map(\.text), ["cancelled", "success"])
    #expect(layer.isIdle)
  }

  @Test("A reset cancels a load that waits for the store and discards the store's late result")
  func duringLoad() {
    let layer = makeLayer()
    let api = layer --> end
    let load = api.load(request)

    let reset = api.reset()
    expectEqual(load.text, "cancelled")
    #expect(store.loads.cancelRequest != nil)
    expectEqual(store.log.entries, ["load"])
    store.loads.succeed(old)
    end.endReset()
    tokens.endReset()
    store.deletes.succeed()

    expectEqual(api.load(request).text, "authenticationRequired")
    #expect(tokens.mock.requests.isEmpty)
    #expect(layer.isIdle)
    withExtendedLifetime(reset) {}
  }

  @Test("A load that the guard has admitted and that arrives during the drain does not stop the reset")
  func secondRequest() {
    struct Twice: HTTPLayer {
      func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
        next.load(request).flatMap { _ in next.load(request) }
      }
    }
    let rig = OAuth2Rig()
    let mock = MockLoader()
    let held = [mock.hold(whenCancelled: .ignore), mock.hold(whenCancelled: .ignore)]
    let load = (ResetGuard() --> Twice() --> rig.oauth --> mock)
    let response = load.load(request)

    let reset = load.reset()
    held[0].answer()
    #expect(held[1].request != nil && reset.text == "pending")
    held[1].answer()

    expectEqual(response.text, "success")
    expectEqual(reset.text, "success")
  }

  @Test("A 401 to a load from before a reset is its response, even after a new login")
  func oldRefusal() {
    let rig = OAuth2Rig()
    let api = rig.oauth --> end
    let held = end.mock.hold()
    let load = api.load(rig.request())

    let reset = api.reset()
    end.endReset()
    let replaced = rig.oauth.replaceCredential(with: OAuth2Credential(accessToken: try! BearerToken("a9")))
    held.answer(status: .unauthorized)

    expectEqual(reset.text, "success")
    expectEqual(replaced.text, "success")
    expectEqual(load.status, "401")
    expectEqual(end.mock.requests.count, 1)
    #expect(rig.tokens.requests.isEmpty)
    #expect(rig.isIdle)
    expectEqual(rig.store.credential?.accessToken.text, "a9")
  }

  @Test("Neither a token that arrives during a reset nor a queued credential is saved")
  func lateToken() {
    for isReplaced in [false, true] {
      let (store, tokens) = (HeldStore(), MockLoader())
      let configuration = OAuth2Configuration(
        client: .public(id: "app"), tokenEndpoint: try! HTTPURL("https://id.example.com/token"),
        grant: .storedCredential)
      let layer = OAuth2(configuration, store: store, tokens: tokens, clock: clock, date: clock.wallClock())
      let api = layer --> MockLoader()
      store.loads.succeed(old)
      let token = tokens.hold()
      let load = api.load(request)
      let replaced = isReplaced ? layer.replaceCredential(with: old) : nil

      let reset = api.reset()
      expectEqual(store.log.entries, ["load"], "the reset waits for the token request")
      token.answer(body: OAuth2Rig.json(2))
      store.deletes.succeed()

      expectEqual(store.log.entries, ["load", "delete"])
      expectEqual(reset.text, "success")
      expectEqual(load.text, "cancelled")
      expectEqual(replaced?.text, isReplaced ? "cancelled" : nil)
      #expect(layer.isIdle)
      expectEqual(clock.timerCount, 0)
    }
  }

  @Test("An unreadable store fails the load; a failed save is reported, and the token is used")
  func failingStore() {
    let layer = makeLayer()
    store.loads.fail(Oops(name: "disk"))
    let api = layer --> end
    end.mock.onOthers(.status(.ok))

    expectEqual(api.load(request).text, "credentialStoreFailed")
    #expect(layer.isIdle)
    let replaced = layer.replaceCredential(with: OAuth2Credential(accessToken: try! BearerToken("a9")))
    store.saves.fail(Oops(name: "full"))

    expectEqual(replaced.text, "success")
    expectEqual(failures.entries, ["full"])
    expectEqual(api.load(request).status, "200")
  }

  @Test("A credential set during a refresh replaces its result for the waiting loads")
  func replacedDuringRefresh() {
    let rig = OAuth2Rig(life: 0)
    rig.mock.onOthers(.status(.ok))
    let token = rig.tokens.hold()
    let load = rig.api.load(rig.request())

    let replaced = rig.oauth.replaceCredential(with: OAuth2Credential(accessToken: try! BearerToken("a9")))
    #expect(token.cancelRequest != nil)
    expectEqual(replaced.text, "pending")
    expectEqual(load.text, "pending")
    token.answer(body: OAuth2Rig.json(2))

    expectEqual(replaced.text, "success")
    expectEqual(load.status, "200")
    expectEqual(rig.sent, ["a9"])
    #expect(rig.isIdle)
    expectEqual(rig.store.credential?.accessToken.text, "a9")
  }
}
