import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: Route")
struct RouteTests {
  private let log = Recorder()
  private let end: HeldResets

  init() {
    end = HeldResets(log)
  }

  private func isUnder(_ prefix: String) -> @Sendable (HTTPRequest) -> Bool {
    { $0.path.hasPrefix(prefix) }
  }

  @Test("A request goes to the first matching branch, and other requests to the next loader")
  func routes() {
    let files = HeldResets(log, "files")
    let api =
      Route(
        .when(isUnder("/files"), files),
        .when(isUnder("/f"), Wiping(log: log, name: "layer"))
      ) --> end
    for mock in [files.mock, end.mock, end.mock] { mock.answer() }

    let loads = ["/files/1", "/f", "/"].map { api.load(anyRequest($0)) }

    expectEqual(loads.map(\.text), ["success", "success", "success"])
    expectEqual(log.entries, ["files loads", "end loads", "end loads"])
  }

  @Test("A cancellation request goes to the branch of the load")
  func cancels() {
    let api = Route(.when(isUnder("/a"), Autocancel())) --> end
    let held = [end.mock.hold(), end.mock.hold()]
    let loads = ["/a", "/b"].map { api.load(anyRequest($0)) }

    loads[0].cancel()
    held[0].complete(.cancelled)

    #expect(loads.map(\.text) == ["cancelled", "pending"] && held[1].cancelRequest == nil)
  }

  @Test("A reset reaches every branch, and the next loader once")
  func resetsOnce() {
    let branches = ["a", "b", "c"].map { Wiping(log: log, name: $0) }
    let api =
      Route(
        .when(isUnder("/a"), branches[0]), .when(isUnder("/b"), branches[1] --> branches[2])
      ) --> end

    let reset = api.reset()
    expectEqual(log.entries, ["end resets"])
    end.endReset()

    expectEqual(log.entries, ["end resets", "a wipes", "b wipes", "c wipes"])
    expectEqual(reset.text, "success")
  }

  @Test("The next loader is reset when every branch has been drained")
  func waitsForAll() {
    let held = end.mock.hold()
    let api =
      Route(.when(isUnder("/a"), Autocancel()), .when(isUnder("/b"), Wiping(log: log, name: "b"))) --> end
    let load = api.load(anyRequest("/a"))

    let reset = api.reset()
    expectEqual(log.entries, ["end loads"])
    held.complete(.cancelled)

    expectEqual(log.entries, ["end loads", "end resets"])
    end.endReset()
    expectEqual([load.map { _ in }, reset].map(\.text), ["cancelled", "success"])
  }

  @Test("The shared end of several branches is reset once")
  func sharedEnd() {
    let shared = HeldResets(log, "shared")
    let api =
      Route(
        .when(isUnder("/a"), Wiping(log: log, name: "a") --> shared),
        .when(isUnder("/b"), Wiping(log: log, name: "b") --> shared),
        .when(isUnder("/c"), shared)
      ) --> end

    let reset = api.reset()
    end.endReset()
    expectEqual(reset.text, "pending")
    shared.endReset()

    expectEqual(log.entries.sorted(), ["a wipes", "b wipes", "end resets", "shared resets"])
    expectEqual(reset.text, "success")
  }

  @Test("Each loader of a shared chain is reset once")
  func sharedPart() {
    let tail = Wiping(log: log, name: "tail") --> end
    let api =
      Route(
        .when(isUnder("/a"), Wiping(log: log, name: "a") --> tail),
        .when(isUnder("/b"), Wiping(log: log, name: "b") --> tail)
      ) --> end

    let reset = api.reset()
    end.endReset()

    expectEqual(log.entries, ["end resets", "a wipes", "b wipes", "tail wipes"])
    expectEqual(reset.text, "success")
  }

  @Test("The shared end of nested routes is reset once")
  func nested() {
    let inner = Route(.when(isUnder("/a/1"), Wiping(log: log, name: "one")))
    let api = Route(.when(isUnder("/a"), inner), .when(isUnder("/b"), Wiping(log: log, name: "b"))) --> end

    let reset = api.reset()
    end.endReset()

    expectEqual(log.entries.sorted(), ["b wipes", "end resets", "one wipes"])
    expectEqual(reset.text, "success")
  }

  @Test("The next loader is reset after the branches of nested and successive routes")
  func waitsForNested() {
    let inner = Route(.when(isUnder("/a/1"), Autocancel()))
    let other = Route(.when(isUnder("/b"), Wiping(log: log, name: "b")))
    for (number, api) in [Route(.when(isUnder("/a"), inner)) --> end, other --> inner --> end].enumerated() {
      let held = end.mock.hold()
      let load = api.load(anyRequest("/a/1"))

      let reset = api.reset()
      expectEqual(end.resetCount, number)
      held.complete(.cancelled)

      expectEqual(end.resetCount, number + 1)
      end.endReset(number)
      expectEqual([load.map { _ in }, reset].map(\.text), ["cancelled", "success"])
    }
  }

  @Test("A chain that nested routes share is reset once, after its last branch, and fails once")
  func sharedByNested() {
    let files = HeldResets(log, "files")
    let held = files.mock.hold()
    let tail = Wiping(log: log, name: "tail") --> files
    let api =
      Route(
        .when(isUnder("/a"), Route(.when(isUnder("/a/1"), Autocancel() --> tail))),
        .when(isUnder("/b"), Route(.when(isUnder("/b/1"), Wiping(log: log, name: "b") --> tail))),
        .when(isUnder("/c"), files)
      ) --> end
    let load = api.load(anyRequest("/a/1"))

    let reset = api.reset()
    end.endReset()
    expectEqual(log.entries.sorted(), ["end resets", "files loads"])
    held.complete(.cancelled)

    expectEqual(log.entries.last, "files resets")
    expectEqual(reset.text, "pending")
    files.endReset(0, .failure(Oops(name: "files")))
    expectEqual(log.entries.suffix(2).sorted(), ["b wipes", "tail wipes"])
    expectEqual(load.text, "cancelled")
    expectEqual(reset.text, "resetFailed: files")
  }

  @Test("A route waits for a nested branch that leads to its own next loader")
  func nestedTail() {
    let held = end.mock.hold()
    let tail = Wiping(log: log, name: "tail") --> end
    let inner = Route(.when(isUnder("/a/1"), Autocancel() --> tail))
    let api = Route(.when(isUnder("/a"), inner)) --> tail
    let load = api.load(anyRequest("/a/1"))

    let reset = api.reset()
    expectEqual(log.entries, ["end loads"])
    held.complete(.cancelled)
    end.endReset()

    expectEqual(log.entries, ["end loads", "end resets", "tail wipes"])
    expectEqual([load.map { _ in }, reset].map(\.text), ["cancelled", "success"])
  }

  @Test("A failed part does not prevent other resets, and is reported once (H6, refuse, drain, wipe)")
  func failures() {
    let tail = Wiping(log: log, name: "tail", error: Oops(name: "tail")) --> end
    let api =
      Route(
        .when(isUnder("/a"), Wiping(log: log, name: "a", error: Oops(name: "a")) --> tail),
        .when(isUnder("/b"), Wiping(log: log, name: "b") --> tail)
      ) --> end

    let reset = api.reset()
    end.endReset(0, .failure(Oops(name: "end")))

    expectEqual(log.entries, ["end resets", "a wipes", "b wipes", "tail wipes"])
    expectEqual(reset.text, "resetFailed: a, tail, end")
  }
}
