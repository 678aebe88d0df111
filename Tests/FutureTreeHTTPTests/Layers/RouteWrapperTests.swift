import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

/// A custom loader around another loader that counts and forwards its resets.
private final class Wrapper: HTTPLoader {
  let inner: any HTTPLoader
  let resets = Locked(0)

  init(_ inner: any HTTPLoader) { self.inner = inner }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> { inner.load(request) }

  func reset() -> Future<Void> {
    resets.withLock { $0 += 1 }
    return inner.reset()
  }
}

private struct WrapperValue: HTTPLoader {
  let inner: any HTTPLoader

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> { inner.load(request) }

  func reset() -> Future<Void> { inner.reset() }
}

/// A custom loader with a reset that ends a load of another branch before it forwards the reset.
private struct Ending: HTTPLoader {
  let inner: any HTTPLoader
  let answer: HeldAnswer

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> { inner.load(request) }

  func reset() -> Future<Void> {
    answer.complete(.cancelled)
    return inner.reset()
  }
}

/// A layer that resets two chains, the second after the first.
private struct InOrder: HTTPLayer {
  let other: any HTTPLoader

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> { next.load(request) }

  func reset(next: any HTTPLoader) -> Future<Void> { other.reset().flatMap { next.reset() } }
}

/// A layer with overlapping resets that join, as H6 (refuse, drain, wipe) requires.
private final class Joining: HTTPLayer {
  let running = Locked<Future<Void>?>(nil)
  let wiped = Promise<Void>()

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> { next.load(request) }

  func reset(next: any HTTPLoader) -> Future<Void> {
    if let running = running.value { return running }
    let reset = wiped.future.flatMap { next.reset() }
    running.value = reset
    return reset
  }
}

@Suite("Layers: Route with custom loaders")
struct RouteWrapperTests {
  private let log = Recorder()
  private let files: HeldResets
  private let end: HeldResets
  private let base: any HTTPLoader

  init() {
    files = HeldResets(log, "files")
    end = HeldResets(log)
    base = (Wiping(log: log, name: "base") --> files)
  }

  private func isUnder(_ prefix: String) -> @Sendable (HTTPRequest) -> Bool {
    { $0.path.hasPrefix(prefix) }
  }

  @Test("A base in custom loaders is reset once, when both branches have drained", arguments: 0..<4)
  func wrappedBase(number: Int) {
    let wrappers = [Wrapper(base), Wrapper(base), Wrapper(Autocancel() --> base), Wrapper(Autocancel() --> base)]
    let branches: [[any HTTPLoader]] = [
      [Autocancel() --> wrappers[0], Autocancel() --> wrappers[1]],
      [Autocancel() --> WrapperValue(inner: base), Autocancel() --> WrapperValue(inner: base)],
      [wrappers[2], wrappers[3]],
      [Autocancel() --> Wrapper(Wrapper(base)), Autocancel() --> base],
    ]
    let api = Route(.when(isUnder("/a"), branches[number][0]), .when(isUnder("/b"), branches[number][1])) --> end
    let held = [files.mock.hold(), files.mock.hold()]
    let loads = ["/a", "/b"].map { api.load(anyRequest($0)) }

    let reset = api.reset()
    for answer in held {
      #expect(!log.entries.contains("base wipes") && reset.text == "pending")
      answer.complete(.cancelled)
    }
    end.endReset()
    #expect(reset.text == "pending")
    files.endReset()

    #expect(log.entries.filter { $0 == "base wipes" }.count == 1)
    #expect([files.resetCount, end.resetCount] == [1, 1])
    #expect(loads.map(\.text) == ["cancelled", "cancelled"] && reset.text == "success")
    #expect(wrappers.allSatisfy { $0.resets.value <= 1 })
  }

  @Test("A joining layer in two branches completes, and the base is reset once after it")
  func joiningLayer() {
    let layer = Joining()
    let api = Route(.when(isUnder("/a"), layer), .when(isUnder("/b"), layer)) --> base

    let reset = api.reset()
    #expect(!log.entries.contains("base wipes"))
    layer.wiped.succeed()
    files.endReset()

    #expect(reset.text == "success")
    #expect(log.entries.filter { $0 == "base wipes" }.count == 1)
  }

  @Test("A callback that resets another chain during the drain does not start the reset of the base early")
  func resetInCallback() {
    let other = Wrapper(end)
    let chain = Autocancel() --> other
    let api = Route(.when(isUnder("/a"), Autocancel())) --> base
    let quick = files.mock.hold(whenCancelled: .complete)
    let held = files.mock.hold()
    api.load(anyRequest("/a/1")).observe { _ in _ = chain.reset() }
    let load = api.load(anyRequest("/a/2"))

    let reset = api.reset()
    #expect(other.resets.value == 1 && load.text == "pending" && !log.entries.contains("base wipes"))
    held.complete(.cancelled)
    files.endReset()

    #expect(log.entries.filter { $0 == "base wipes" }.count == 1)
    #expect([load.map { _ in }, reset].map(\.text) == ["cancelled", "success"])
    withExtendedLifetime(quick) {}
  }

  @Test("One custom loader in two branches is reset once")
  func sharedWrapper() {
    let wrapper = Wrapper(base)
    let api =
      Route(
        .when(isUnder("/a"), Autocancel() --> wrapper), .when(isUnder("/b"), wrapper), .when(isUnder("/c"), base)
      ) --> end
    let held = files.mock.hold()
    let load = api.load(anyRequest("/a"))

    let reset = api.reset()
    #expect(wrapper.resets.value == 0 && files.resetCount == 0)
    held.complete(.cancelled)
    end.endReset()
    files.endReset()

    #expect(wrapper.resets.value == 1 && files.resetCount == 1)
    #expect([load.map { _ in }, reset].map(\.text) == ["cancelled", "success"])
  }

  @Test("A custom loader around a route resets each part once per reset")
  func aroundRoute() {
    let branches: [Route.Branch] = [
      .when(isUnder("/a"), Wrapper(base)), .when(isUnder("/b"), Wiping(log: log, name: "b") --> base),
    ]
    let wrapper = Wrapper(Route(branches[0], branches[1]) --> base)
    let api = ResetGuard() --> wrapper

    for number in 0..<2 {
      let reset = api.reset()
      files.endReset(number)

      #expect(reset.text == "success")
      #expect(log.entries.suffix(3) == ["b wipes", "base wipes", "files resets"])
      #expect(wrapper.resets.value == number + 1 && files.resetCount == number + 1)
    }
  }

  @Test("A custom loader around a nested route resets the shared base once")
  func aroundInnerRoute() {
    let inner = Wrapper(Route(.when(isUnder("/a/1"), Autocancel() --> base)) --> end)
    let api = Route(.when(isUnder("/a"), inner), .when(isUnder("/b"), base)) --> end
    let held = files.mock.hold()
    let load = api.load(anyRequest("/a/1"))

    let reset = api.reset()
    #expect(!log.entries.contains("base wipes"))
    held.complete(.cancelled)
    files.endReset(0, .failure(Oops(name: "files")))
    end.endReset()

    #expect([files.resetCount, end.resetCount] == [1, 1])
    #expect(load.text == "cancelled" && reset.text == "resetFailed: files")
  }

  @Test("The base waits for a custom loader that is about to forward the reset")
  func duringCall() {
    let held = [files.mock.hold(), files.mock.hold()]
    // Created first, so that it does not lead to the other branch, which begins to drain earlier.
    let second = Route.Branch.when(isUnder("/b"), Ending(inner: Autocancel() --> base, answer: held[0]))
    let api = Route(.when(isUnder("/a"), Autocancel() --> base), second) --> end
    let loads = ["/a", "/b"].map { api.load(anyRequest($0)) }

    let reset = api.reset()
    #expect(loads.map(\.text) == ["cancelled", "pending"] && !log.entries.contains("base wipes"))
    held[1].complete(.cancelled)
    files.endReset()
    end.endReset()

    #expect(files.resetCount == 1 && reset.text == "success")
  }

  @Test("The base waits for a branch of a route that the reset has not reached")
  func routeBehindDrain() {
    let inner = Route(.when(isUnder("/a/1"), Wiping(log: log, name: "a") --> base))
    let api = Route(.when(isUnder("/a"), Autocancel() --> inner --> files), .when(isUnder("/b"), base)) --> end
    let held = files.mock.hold()
    let load = api.load(anyRequest("/a/1"))

    let reset = api.reset()
    #expect(!log.entries.contains("base wipes"))
    held.complete(.cancelled)
    files.endReset()
    end.endReset()

    #expect(files.resetCount == 1)
    #expect([load.map { _ in }, reset].map(\.text) == ["cancelled", "success"])
  }

  @Test("A layer that resets one chain after another does not wait for itself")
  func oneAfterAnother() {
    let api = Route(.when(isUnder("/a"), InOrder(other: base) --> end), .when(isUnder("/b"), base)) --> end

    let reset = api.reset()
    files.endReset()
    end.endReset()

    #expect([files.resetCount, end.resetCount] == [1, 1] && reset.text == "success")
  }

  @Test("A reset that starts when another has ended is separate")
  func afterwards() {
    let api = Route(.when(isUnder("/a"), Wrapper(base))) --> end
    let again = Locked<Future<Void>?>(nil)
    api.reset().observe { [base] _ in again.value = base.reset() }

    end.endReset()
    files.endReset()
    #expect(files.resetCount == 2 && again.value?.text == "pending")
    files.endReset(1)

    #expect(again.value?.text == "success")
  }

  @Test("Branches that drain on several threads reset their base once, after all of them")
  func threads() {
    for _ in 0..<200 {
      let files = HeldResets()
      let base = Wiping(log: log, name: "base") --> files
      let api =
        Route(
          .when(isUnder("/a"), Autocancel() --> Wrapper(base)), .when(isUnder("/b"), Wrapper(Autocancel() --> base)),
          .when(isUnder("/c"), Autocancel() --> base)
        ) --> files
      let held = (0..<3).map { _ in files.mock.hold() }
      let loads = ["/a", "/b", "/c"].map { api.load(anyRequest($0)) }
      let reset = api.reset()

      together(
        held.map { answer in
          { answer.complete(.cancelled) }
        })

      #expect(loads.map(\.text) == ["cancelled", "cancelled", "cancelled"] && files.resetCount == 1)
      files.endReset()
      #expect(reset.text == "success")
    }
  }
}
