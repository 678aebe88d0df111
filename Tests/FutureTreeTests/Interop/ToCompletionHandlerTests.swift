import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Bridges: to completion handlers")
struct ToCompletionHandlerTests {
  private let log = Recorder()

  @Sendable private func handle(_ result: Result<Int, any Error>) {
    switch result {
    case .success(let value): log("success \(value)")
    case .failure(let error as FutureCancelled): log("cancelled \(error.reason.message)")
    case .failure(let error): log("failure \(error)")
    }
  }

  static let outcomes: [(Outcome<Int>, String)] = [
    (.success(1), "success 1"), (.failure(Oops()), "failure oops"), (.cancelled("gone"), "cancelled gone"),
  ]

  @Test("The handler receives the result once, and the outcome passes", arguments: outcomes)
  func reports(_ outcome: Outcome<Int>, _ line: String) {
    let promise = Promise<Int>()
    let returned = promise.future.report(to: handle)

    promise.complete(with: outcome)

    expectEqual(log.entries, [line])
    expectEqual(returned.state, outcome.state)
  }

  @Test("The handler counts as a consumer: it withholds a request (law 3, stopping where others wait)", .tags(.law03))
  func consumer() {
    let promise = source(log)
    promise.future.report(to: handle)

    let receipt = promise.future.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(receipt.effect, .withheld(by: 1))
    expectEqual(log.entries, [])
  }

  @Test("Cancelling the returned future calls the handler at once")
  func withdraws() {
    let promise = source(log)
    let other = promise.future.map { $0 }
    let returned = promise.future.report(to: handle)

    returned.cancel(.doNotForwardIfOthersWaiting, reason: "not needed")

    expectEqual(log.entries, ["cancelled not needed"])
    expectEqual(other.state, "pending")
  }

  @Test("The handler runs on its executor")
  func onExecutor() {
    let executor = ManualExecutor()
    Future.succeeded(1).report(on: executor.executor, to: handle)
    expectEqual(log.entries, [])

    executor.runAll()

    expectEqual(log.entries, ["success 1"])
  }

  @Test("A handler isolated to the main actor runs there")
  func onMain() async throws {
    let screen = Screen()

    let reported = Future.succeeded(1).report(on: .main) { result in screen.text = "\((try? result.get()) ?? 0)" }

    try await expectEqual(reported.value, 1)
    await expectEqual(screen.text, "1")
  }
}

@MainActor private final class Screen {
  var text = ""
}
