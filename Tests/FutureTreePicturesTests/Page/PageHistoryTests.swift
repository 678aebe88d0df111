import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree
@testable import FutureTreePictures

@Suite("Pages: history") struct PageHistoryTests {
  private struct Oops: Error {}

  private let clock = ManualClock()
  private let log: FutureLog
  private let promise = Promise<Int>()
  private let root: Future<Int>

  init() {
    log = FutureLog(clock: clock)
    root = promise.future.named("root").logged(in: log)
  }

  /// The history now.
  private var now: PageHistory { PageHistory(log.events) }

  private func look(_ name: String) throws -> PageHistory.Look {
    let history = now
    return history.look(of: try #require(history.futures.firstIndex { $0.name == name }))
  }

  @Test("A withheld request is shown where it stopped, until it is delivered")
  func withheld() throws {
    let (list, badge) = (root.map { $0 }.named("list"), root.map { $0 }.named("badge"))

    badge.cancel(.doNotForwardIfOthersWaiting, reason: CancellationReason("hidden", fileID: "App/Badge.swift", line: 3))

    try expectEqual(look("root").state, "pending, 1 consumer")
    #expect(try look("root").isWithheld && look("root").classes == "future pending withheld")
    try expectEqual(look("root").brief, "withheld: hidden")
    try expectEqual(
      look("root").detail,
      "withheld while 1 consumer has interest [doNotForwardIfOthersWaiting]: hidden (App/Badge.swift:3)")
    list.cancel(.doNotForwardIfOthersWaiting, reason: "closed")
    #expect(try !look("root").isWithheld)
    try expectEqual(look("root").brief, "asked to cancel: hidden")
  }

  @Test("A future cancelled for the reason of another request shows its own request as well")
  func ownRequest() throws {
    let list = root.map { $0 }.named("list")
    list.cancel(reason: CancellationReason("closed", fileID: "App/List.swift", line: 3))

    promise.completeCancelled(CancellationReason("no network", fileID: "App/Load.swift", line: 4))

    #expect(try look("list").state == "cancelled" && look("list").brief == "no network")
    try expectEqual(look("list").detail, "no network (App/Load.swift:4); asked to cancel: closed (App/List.swift:3)")
    try expectEqual(look("root").detail, "no network (App/Load.swift:4); asked to cancel: closed (App/List.swift:3)")
  }

  @Test("An edge is wanted, delivered or cut")
  func edges() {
    let (first, second) = (root.map { $0 }.named("first"), root.map { $0 }.named("second"))
    let third = root.map { $0 }.named("third")
    second.cancel(.doNotForwardIfOthersWaiting)
    expectEqual(now.edges.map(\.state), [.wanted, .cut, .wanted])
    promise.succeed(1)
    expectEqual(now.edges.map(\.state), [.delivered, .cut, .delivered])
    expectEqual(now.summary, "4 futures: 3 succeeded, 1 cancelled")
    withExtendedLifetime((first, third)) {}
  }

  @Test("Each moment of a long history can be found again, and a change within one moment is stored once")
  func moments() throws {
    let list = root.map { $0 }.named("list")
    list.cancel()
    promise.fail(Oops())

    let history = now
    for looks in history.looks {
      #expect(zip(looks, looks.dropFirst()).allSatisfy { $0.moment < $1.moment && $0.look != $1.look })
      #expect(looks.allSatisfy { (1...log.events.count).contains($0.moment) })
    }
    for (future, entry) in zip(history.numbers, history.futures) {
      let last = try #require(log.events.last { $0.future == future && $0.fact != .released })
      #expect(history.looks[future - 1].last?.moment ?? 0 <= last.number)
      expectEqual(entry.name, last.name)
    }
  }

  @Test("A future whose first events were dropped is shown as pending, with its number")
  func dropped() {
    let history = PageHistory([
      FutureEvent(number: 9, time: .nanoseconds(0), future: 7, name: "list", fact: .linked(to: 3))
    ])

    expectEqual(history.futures.map(\.name), ["list", "future 3"])
    expectEqual(history.futures.map(\.state), [.pending, .pending])
    expectEqual(history.edges.count, 1)
  }

  @Test("A snapshot is one moment, and its first future is marked")
  func snapshot() {
    let list = root.shared().map { $0 }.named("list")
    let token = root.cancelToken()

    let history = PageHistory(root.tree())

    expectEqual(history.looks.map { $0.map(\.moment) }, [[0], [0]])
    expectEqual(history.look(of: 0).state, "pending, 2 consumers, shared")
    #expect(history.neighbours().consumers == [[1], []] && history.neighbours().inputs == [[], [0]])
    withExtendedLifetime((list, token)) {}
  }
}
