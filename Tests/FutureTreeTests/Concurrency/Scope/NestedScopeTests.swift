import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("Scopes: nested scopes and pictures")
struct NestedScopeTests {
  private let log = Recorder()

  @Test("A request to a scope ends its nested scopes, and the scope waits for them")
  func nested() {
    let outer = CancelScope("outer")
    let inner = outer.nested("inner")
    let promise = source(log)
    inner.run { promise.future }

    outer.cancel(reason: "closed")

    #expect(inner.isEnded)
    expectEqual(log.entries, ["source: plain"])
    expectEqual(outer.future.state, "pending")
    promise.complete(.cancelled)
    expectEqual(inner.future.reason?.message, "closed")
    expectEqual(outer.future.state, "cancelled")
  }

  @Test("A request to a nested scope does not reach the outer scope")
  func nestedAlone() {
    let outer = CancelScope("outer")
    let inner = outer.nested("inner")
    let (mine, other) = (source(log, "mine"), source(log, "other"))
    inner.run { mine.future }
    outer.run { other.future }

    inner.cancel()

    expectEqual(log.entries, ["mine: plain"])
    #expect(!outer.isEnded)
    mine.complete(.cancelled)
    expectEqual(inner.future.state, "cancelled")
    expectEqual(outer.future.state, "pending")
    outer.end()
    other.succeed(1)
    expectEqual(outer.future.state, "success(())")
  }

  @Test("A nested scope of an ended scope has ended")
  func nestedInEnded() {
    let outer = CancelScope("outer")
    outer.end()

    let inner = outer.nested("inner")

    #expect(inner.isEnded)
    expectEqual(inner.future.reason?.message, "the outer scope had ended")
  }

  // MARK: - Pictures

  @Test("The tree shows the scope below its work")
  func picture() {
    let scope = CancelScope("checkout")
    let (order, payment) = (Promise<Int>(), Promise<Int>())
    scope.run { order.future.named("order") }
    scope.nested("inner").run { payment.future.named("payment") }

    let names = Set(scope.future.tree().entries.map(\.name))
    expectEqual(names, ["checkout", "open", "order", "inner", "payment"])
    #expect(order.future.tree().description.contains("└─ checkout"))
    withExtendedLifetime((scope, order, payment)) {}
  }

  @Test("A log shows the work of a scope")
  func logged() {
    let events = FutureLog()
    let scope = CancelScope("checkout")
    events.add(treeOf: scope.future.node)
    let order = Promise<Int>()
    scope.run { order.future.named("order") }

    #expect(events.events.contains { $0.name == "order" })
    withExtendedLifetime((scope, order)) {}
  }
}
