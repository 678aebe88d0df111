import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("Shared names of futures") struct FutureNameTests {
  private static let line: UInt = #line + 1
  private static let page = FutureName("page")

  @Test("The futures of one name share one object")
  func shared() {
    let promise = Promise<Int>()
    let futures = [promise.future.map { $0 }.named(Self.page), promise.future.map { $0 }.named(Self.page)]

    #expect(futures.allSatisfy { $0.node.details === Self.page.details })
    expectEqual(futures.map { $0.tree().entries[0].name }, ["page", "page"])
    expectEqual(futures[0].tree().entries[0].createdAt, CodeLocation(fileID: #fileID, line: Self.line))
    promise.succeed(1)
  }

  @Test("A named future keeps its executor and its log, and the last name is used")
  func details() {
    let executor = ManualExecutor()
    let log = FutureLog(clock: ManualClock())
    let promise = Promise<Int>()
    let queued = promise.future.map(on: executor.executor) { $0 }.named(Self.page)
    let logged = promise.future.map { $0 }.logged(in: log).named("first").named(Self.page)
    let renamed = promise.future.map { $0 }.named(Self.page).named("later")

    promise.succeed(1)

    expectEqual(executor.runAll(), 1)
    expectEqual(queued.outcomeIfCompleted?.ending, .succeeded)
    #expect(log.events.contains { $0.name == "page" && $0.fact == .named })
    expectEqual([queued, logged, renamed].map { $0.tree().entries[0].name }, ["page", "page", "later"])
    #expect(Self.page.details.monitor == nil)
  }
}
