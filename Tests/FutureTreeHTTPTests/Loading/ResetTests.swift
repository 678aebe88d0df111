import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

/// A layer that logs its steps, and whose drain the test ends.
private final class Steps: HTTPLayer {
  let log: Recorder
  let name: String
  let drained: Promise<Void>?
  let parts: [any HTTPPart]
  let error: Oops?

  init(_ log: Recorder, _ name: String, drained: Promise<Void>? = nil, parts: [any HTTPPart] = [], error: Oops? = nil) {
    (self.log, self.name, self.drained, self.parts, self.error) = (log, name, drained, parts, error)
  }

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> { next.load(request) }

  func refuse(_ notes: ResetNotes) -> Future<Void> {
    log("\(name) refuses")
    return .succeeded
  }

  func drain(_ notes: ResetNotes) -> Future<Void> {
    log("\(name) drains")
    return error.map { .failed($0) } ?? drained?.future ?? .succeeded
  }

  func wipe(_ notes: ResetNotes) -> Future<Void> {
    log("\(name) wipes")
    return error.map { .failed($0) } ?? .succeeded
  }

  func admit(_ notes: ResetNotes) { log("\(name) admits") }
}

/// A custom loader around another loader that has only `load` and `reset`.
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

/// A custom loader that names the loader that it wraps.
private struct Revealing: HTTPLoader {
  let inner: any HTTPLoader

  var parts: [any HTTPPart] { [inner] }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> { inner.load(request) }

  func reset() -> Future<Void> { inner.reset() }
}

@Suite("Steps of a reset (H6, refuse, drain, wipe)")
struct ResetTests {
  private let log = Recorder()
  private let end: HeldResets

  init() { end = HeldResets(log) }

  private func steps(_ name: String, drained: Promise<Void>? = nil, parts: [any HTTPPart] = []) -> Steps {
    Steps(log, name, drained: drained, parts: parts)
  }

  private func isUnder(_ prefix: String) -> @Sendable (HTTPRequest) -> Bool {
    { $0.path.hasPrefix(prefix) }
  }

  @Test("All refuse, each drains when the one before has drained, all wipe, and all admit")
  func order() {
    let drained = Promise<Void>()
    let api = steps("a", drained: drained) --> steps("b") --> end

    let reset = api.reset()
    expectEqual(log.entries, ["a refuses", "b refuses", "a drains"])
    drained.succeed()
    expectEqual(log.entries.dropFirst(3), ["b drains", "end resets"])
    end.endReset()

    expectEqual(log.entries.dropFirst(5), ["a wipes", "b wipes", "b admits", "a admits"])
    expectEqual(reset.text, "success")
  }

  @Test("A layer that stands twice in a chain is reset once, after all that lead to it")
  func twice() {
    let layer = steps("a")

    let reset = (layer --> steps("b") --> layer --> end).reset()
    end.endReset()

    expectEqual(log.entries.filter { $0.hasSuffix("drains") }, ["b drains", "a drains"])
    expectEqual(end.resetCount, 1)
    expectEqual(log.entries.count { $0 == "a wipes" }, 1)
    expectEqual(reset.text, "success")
  }

  @Test("Branches are drained together, and what they share after the last of them")
  func branches() {
    let drained = [Promise<Void>(), Promise<Void>()]
    let shared = steps("shared") --> end
    let api =
      Route(
        .when(isUnder("/a"), steps("a", drained: drained[0]) --> steps("inner")),
        .when(isUnder("/b"), steps("b", drained: drained[1]) --> shared)
      ) --> shared

    let reset = api.reset()
    expectEqual(log.entries.filter { $0.hasSuffix("drains") }, ["a drains", "b drains"])
    drained[1].succeed()
    #expect(!log.entries.contains("shared drains"))
    drained[0].succeed()
    expectEqual(log.entries.filter { $0.hasSuffix("drains") }.suffix(2), ["inner drains", "shared drains"])
    end.endReset()

    expectEqual(log.entries.count { $0 == "shared wipes" }, 1)
    expectEqual(end.resetCount, 1)
    expectEqual(reset.text, "success")
  }

  @Test("Branches with layers, inside each other and after each other, are all reset")
  func branchesWithLayers() {
    let names = (0..<16).map { "\($0)" }
    let inner = names.map { Route(.when(isUnder("/"), steps($0))) }
    let first = Route(.when(isUnder("/a"), inner[0]), .when(isUnder("/b"), inner[1]), .when(isUnder("/c"), inner[2]))
    var api: any HTTPLoader = end
    for route in inner.dropFirst(3) { api = (Route(.when(isUnder("/d"), route)) --> api) }
    api = (first --> api)

    let reset = api.reset()
    end.endReset()

    expectEqual(Set(log.entries.filter { $0.hasSuffix("wipes") }), Set(names.map { "\($0) wipes" }))
    expectEqual(reset.text, "success")
  }

  @Test("Nothing is wiped while a branch drains")
  func wipesLast() {
    let drained = Promise<Void>()
    let branch = steps("a", drained: drained)
    let api = Route(.when(isUnder("/a"), branch)) --> Wiping(log: log, name: "next") --> MockLoader()

    let reset = api.reset()
    #expect(!log.entries.contains { $0.hasSuffix("wipes") })
    expectEqual(reset.text, "pending")
    drained.succeed()

    #expect(log.entries.contains("next wipes"))
    expectEqual(reset.text, "success")
  }

  @Test("Shared chains inside shared chains take time in proportion to their size")
  func depth() {
    var api: any HTTPLoader = end
    for _ in 0..<200 {
      let rest = api
      let route = Route(.when(isUnder("/a"), steps("a") --> rest), .when(isUnder("/b"), steps("b") --> rest))
      api = (route --> rest)
    }

    let reset = api.reset()
    end.endReset()

    expectEqual(log.entries.count { $0 == "a wipes" }, 200)
    expectEqual(end.resetCount, 1)
    expectEqual(reset.text, "success")
  }

  @Test("Parts that name each other are reset once")
  func circle() {
    final class Circle: HTTPLoader {
      let other = Locked<Circle?>(nil)
      let log: Recorder
      init(_ log: Recorder) { self.log = log }
      var parts: [any HTTPPart] { other.value.map { [$0] } ?? [] }
      func load(_ request: HTTPRequest) -> Future<HTTPResponse> { .cancelled("not used") }
      func reset() -> Future<Void> { .succeeded }
      func wipe(_ notes: ResetNotes) -> Future<Void> {
        log("wipes")
        return .succeeded
      }
    }
    let circles = [Circle(log), Circle(log)]
    circles[0].other.value = circles[1]
    circles[1].other.value = circles[0]

    expectEqual((steps("a") --> circles[0]).reset().text, "success")
    expectEqual(log.entries.count { $0 == "wipes" }, 2)
    circles[0].other.value = nil
  }

  @Test("Each step of a part runs even if another fails, and the errors are reported in order")
  func failures() {
    let failing = Steps(log, "a", error: Oops(name: "a"))

    let reset = (failing --> steps("b") --> end).reset()
    end.endReset(0, .failure(Oops(name: "end")))

    expectEqual(log.entries.suffix(4), ["a wipes", "b wipes", "b admits", "a admits"])
    expectEqual(reset.text, "resetFailed: a, a, end")
  }

  @Test("A reset that is requested while another admits loads is separate")
  func whileAdmitting() {
    final class Late: HTTPLayer {
      let api = Locked<(any HTTPLoader)?>(nil)
      let mock: MockLoader
      let seen = Locked<[String]>([])
      init(_ mock: MockLoader) { self.mock = mock }
      func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> { next.load(request) }
      /// Is called before the guard admits loads: a load is refused, and a reset is a new one.
      func admit(_ notes: ResetNotes) {
        guard let api = api.value else { return }
        self.api.value = nil
        let reset = api.reset()
        seen.value = [api.load(anyRequest()).text, reset.text]
      }
    }
    let late = Late(end.mock)
    let api = ResetGuard() --> late --> end
    late.api.value = api

    let reset = api.reset()
    end.endReset()

    expectEqual(reset.text, "success")
    expectEqual(late.seen.value, ["resetInProgress", "pending"])
    expectEqual(end.resetCount, 2)
    end.endReset(1)
    end.mock.answer()
    expectEqual(api.load(anyRequest()).text, "success")
  }

  @Test("A reset of another chain does not join, although the first chain is gone")
  func otherChain() {
    let (gate, other) = (ResetGuard(), HeldResets())
    for number in 0..<100 {
      let first = (gate --> end).reset()
      let second = (gate --> other).reset()
      guard end.resetCount == number + 1, other.resetCount == number + 1 else { return #expect(Bool(false)) }
      end.endReset(number)
      other.endReset(number)
      expectEqual([first, second].map(\.text), ["success", "success"])
    }
  }

  @Test("Cancelling a reset ends only the wait")
  func cancelled() {
    let drained = Promise<Void>()
    let reset = (steps("a", drained: drained) --> end).reset()

    reset.cancel(.forceImmediately)
    expectEqual(reset.text, "cancelled")
    #expect(drained.cancelRequest == nil)
    drained.succeed()
    end.endReset()

    expectEqual(log.entries.suffix(2), ["a wipes", "a admits"])
  }

  // MARK: Custom loaders

  @Test("A custom loader in two branches is reset once, after both")
  func wrapper() {
    let drained = Promise<Void>()
    let wrapper = Wrapper(steps("inner") --> end)
    let api =
      Route(.when(isUnder("/a"), steps("a", drained: drained) --> wrapper), .when(isUnder("/b"), wrapper)) --> wrapper

    let reset = api.reset()
    expectEqual(wrapper.resets.value, 0)
    drained.succeed()
    end.endReset()

    expectEqual(wrapper.resets.value, 1)
    expectEqual(end.resetCount, 1)
    expectEqual(reset.text, "success")
    expectEqual(log.entries.count { $0 == "inner wipes" }, 1)
  }

  @Test("Custom loaders around one chain leave it wiped after the last of its loads")
  func wrappersOfOneChain() {
    let base = steps("base") --> end
    let drained = Promise<Void>()
    let api = Route(.when(isUnder("/a"), steps("a", drained: drained) --> Wrapper(base))) --> Wrapper(base)

    let reset = api.reset()
    drained.succeed()
    for number in 0..<end.resetCount { end.endReset(number) }
    expectEqual(end.resetCount, 2)
    end.endReset(1)

    expectEqual(reset.text, "success")
    expectEqual(log.entries.last, "a admits")
    #expect(log.entries.lastIndex(of: "base wipes")! > log.entries.lastIndex(of: "a drains")!)
  }

  @Test("A custom loader that names its loader shares it with other branches")
  func revealing() {
    let drained = Promise<Void>()
    let base = steps("base", drained: drained) --> end
    let api =
      Route(.when(isUnder("/a"), steps("a") --> Revealing(inner: base)), .when(isUnder("/b"), Revealing(inner: base)))
      --> base

    let reset = api.reset()
    drained.succeed()
    end.endReset()

    expectEqual(log.entries.count { $0 == "base wipes" }, 1)
    expectEqual(end.resetCount, 1)
    expectEqual(reset.text, "success")
  }

  @Test("A loader that is reset alone has its own steps, and those of its parts")
  func alone() {
    let reset = Revealing(inner: steps("a") --> end).resetWithReceipt()
    end.endReset()

    guard case .success(let receipt)? = reset.outcomeIfCompleted else {
      Issue.record("\(reset)")
      return
    }
    expectEqual(receipt.parts.map(\.name), ["Revealing", "Steps", "HeldResets"])
  }

  @Test("A callback that resets another chain during the drain does not wipe this one early")
  func resetInCallback() {
    let other = HeldResets(log, "other")
    let chain = Autocancel() --> other
    let api = Autocancel() --> steps("base") --> end
    let held = [end.mock.hold(whenCancelled: .complete), end.mock.hold()]
    api.load(anyRequest("/1")).observe { _ in _ = chain.reset() }
    let load = api.load(anyRequest("/2"))

    let reset = api.reset()
    expectEqual(other.resetCount, 1)
    expectEqual(load.text, "pending")
    #expect(!log.entries.contains("base wipes"))
    held[1].complete(.cancelled)
    end.endReset()

    expectEqual([load.map { _ in }, reset].map(\.text), ["cancelled", "success"])
  }

  @Test("A reset that starts when another has ended is separate")
  func afterwards() {
    let api = ResetGuard() --> end
    let again = Locked<Future<Void>?>(nil)
    api.reset().observe { _ in again.value = api.reset() }

    end.endReset()
    expectEqual(end.resetCount, 2)
    expectEqual(again.value?.text, "pending")
    end.endReset(1)

    expectEqual(again.value?.text, "success")
  }

  @Test("Branches that drain on several threads wipe their base once, after all of them")
  func threads() {
    for _ in 0..<200 {
      let files = HeldResets()
      let base = Wiping(log: log, name: "base") --> files
      let api =
        Route(
          .when(isUnder("/a"), Autocancel() --> base), .when(isUnder("/b"), Autocancel() --> base),
          .when(isUnder("/c"), Autocancel() --> base)
        ) --> files
      let held = (0..<3).map { _ in files.mock.hold() }
      let loads = ["/a", "/b", "/c"].map { api.load(anyRequest($0)) }
      let reset = api.reset()

      together(
        held.map { answer in
          { answer.complete(.cancelled) }
        })

      expectEqual(loads.map(\.text), ["cancelled", "cancelled", "cancelled"])
      expectEqual(files.resetCount, 1)
      files.endReset()
      expectEqual(reset.text, "success")
    }
  }
}
