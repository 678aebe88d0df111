import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Retry: budgets") struct RetryBudgetTests {
  private func spent(_ budgets: inout RetryBudgets, _ server: String, times: Int) -> [Bool] {
    (0..<times).map { _ in budgets.spend(server) }
  }

  @Test("Each server has its own reserve of attempts")
  func reserve() {
    var budgets = RetryBudgets(RetryBudget(reserve: 2))

    let spent = (a: spent(&budgets, "a", times: 3), b: spent(&budgets, "b", times: 3))

    expectEqual(spent.a, [true, true, false])
    expectEqual(spent.b, [true, true, false])
  }

  @Test("Five successes give back one attempt, up to the reserve")
  func successes() {
    var budgets = RetryBudgets(RetryBudget(reserve: 1, perSuccess: 0.2))
    _ = budgets.spend("a")

    for _ in 0..<4 { budgets.succeeded("a") }
    let isEnough = budgets.spend("a")
    budgets.succeeded("a")
    let isFull = budgets.isEmpty
    for _ in 0..<100 { budgets.succeeded("a") }

    #expect(!isEnough && isFull)
    let last = spent(&budgets, "a", times: 2)
    expectEqual(last, [true, false])
  }

  @Test("An attempt that is put back is available again, up to the reserve")
  func putBack() {
    var budgets = RetryBudgets(RetryBudget(reserve: 2))
    _ = spent(&budgets, "a", times: 2)

    for _ in 0..<5 { budgets.putBack("a") }
    let isFull = budgets.isEmpty

    let last = spent(&budgets, "a", times: 3)
    #expect(isFull)
    expectEqual(last, [true, true, false])
  }

  @Test("The number of servers is limited, and the server with the most attempts left is removed first")
  func bounded() {
    var budgets = RetryBudgets(RetryBudget(reserve: 3, servers: 2))
    _ = spent(&budgets, "a", times: 3)
    _ = spent(&budgets, "b", times: 1)

    let spent = spent(&budgets, "c", times: 2)
    for number in 0..<10_000 { _ = budgets.spend("\(number)") }
    let isLeft = budgets.spend("a")

    expectEqual(spent, [true, true])
    expectEqual(budgets.count, 2)
    #expect(!isLeft)
  }

  @Test("Invalid values are clamped")
  func nonsense() {
    let budget = RetryBudget(reserve: -1, perSuccess: .nan, servers: -1)
    expectEqual(budget.reserve, 0)
    expectEqual(budget.perSuccess, 0)
    expectEqual(budget.servers, 1)
    var rich = RetryBudgets(RetryBudget(reserve: .max, perSuccess: .infinity))
    var poor = RetryBudgets(budget)
    var unlimited = RetryBudgets(nil)

    let spent = [spent(&rich, "a", times: 1), spent(&poor, "a", times: 1), spent(&unlimited, "a", times: 50)]
    rich.succeeded("a")

    expectEqual(spent, [[true], [false], Array(repeating: true, count: 50)])
    #expect(rich.isEmpty && poor.isEmpty && unlimited.isEmpty)
  }
}
