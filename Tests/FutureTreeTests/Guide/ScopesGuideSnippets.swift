import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// The code of the guide *Scopes*, word for word, and its drawing. `GuideTests` compares the code.
@Suite("Guide: Scopes")
struct ScopesGuideSnippets {
  private let print = Transcript()

  /// A shop whose orders the test completes.
  private final class Shop: Sendable {
    private let print: Transcript
    private let orders = Locked<[Promise<Int>]>([])
    private let answersAtOnce: Bool

    init(_ print: Transcript, answersAtOnce: Bool = false) {
      self.print = print
      self.answersAtOnce = answersAtOnce
    }

    func order(_ product: String) -> Future<Int> {
      let promise = Promise<Int>()
      promise.onRequestCancel { _ in .complete(.cancelled) }
      orders.withLock { $0.append(promise) }
      if answersAtOnce { promise.succeed(7) }
      return promise.future
    }

    func photo(_ product: String) -> Future<Int> { order(product) }
    func pay(_ order: Int) -> Future<String> {
      answersAtOnce ? .succeeded("paid \(order)") : self.order("").map { "paid \($0)" }
    }

    func fail(_ index: Int) { orders.value[index].fail(Oops("out of film")) }

    func completeOrder(_ number: Int) { orders.value[0].succeed(number) }

    func cancelOrder(_ order: Int) -> Future<Void> {
      print("cancelOrder \(order)")
      return .succeeded
    }
  }

  @Test("A scope, its drawing, and a request")
  func requests() throws {
    let shop = Shop(print)
    // guide scope
    let checkout = CancelScope("checkout")
    let order = checkout.run { shop.order("tea") }.named("order")
    let preview = checkout.nested("preview")
    let photo = preview.run { shop.photo("tea") }.named("photo")

    print(checkout.future.tree())
    // end
    let guide = try #require(Guide.all.first { $0.name == "Scopes" })
    let drawing = try guide.page().blocks.first { $0.language == "text" }?.text
    #expect(print.lines[0] + "\n" == drawing, "\(print.lines[0])")

    // guide cancel
    print(checkout.cancel(reason: "the window was closed"))  // delivered to 4 handlers, reached 6 futures
    checkout.future.observe { print($0.ending) }  // cancelled
    print(checkout.run { shop.order("more tea") }.isCompleted)  // true; an ended scope refuses
    // end
    #expect(order.isCompleted && photo.isCompleted)
    #expect(print.lines.dropFirst() == ["delivered to 4 handlers, reached 6 futures", "cancelled", "true"])
  }

  @Test("A failure that cancels the other work")
  func failures() {
    let shop = Shop(print)
    // guide failures
    let page = CancelScope("page", whenWorkFails: .cancelsWork)
    let order = page.run { shop.order("tea") }
    let photo = page.run { shop.photo("tea") }
    order.onCancel { reason in print(reason.message) }  // other work of the scope failed

    shop.fail(1)
    page.future.onFailure { error in print(error) }  // out of film
    // end
    #expect(print.lines == ["other work of the scope failed", "out of film"] && photo.isCompleted)
  }

  @Test("A deadline")
  func deadline() {
    let shop = Shop(print)
    // guide deadline
    let clock = ManualClock()
    let page = CancelScope("page", deadline: .after(.seconds(5), clock: clock))
    page.run { shop.order("tea") }.onCancel { reason in print(reason.kind) }  // deadline
    print(page.deadline?.remaining == .seconds(5))  // true
    page.deadline = .after(.seconds(8), clock: clock)  // Moves it.

    clock.advance(by: .seconds(8))
    page.future.onFailure { error in print(error is TimeoutError) }  // true
    // end
    #expect(print.lines == ["true", "deadline", "true"])
  }

  @Test("Undoing steps")
  func undos() {
    let shop = Shop(print)
    // guide undo
    let checkout = CancelScope("checkout")
    let order = checkout.undo(of: checkout.run { shop.order("tea") }, named: "order") { shop.cancelOrder($0) }
    let payment = checkout.run { order.flatMap { shop.pay($0) } }
    payment.observe { outcome in
      if case .success = outcome { try? checkout.commit() }
      checkout.end()
    }

    shop.completeOrder(7)
    payment.cancel(reason: "the card was refused")  // cancelOrder 7
    print(checkout.undoneCount, checkout.future.isCompleted)  // 1 true
    // end
    #expect(print.lines == ["cancelOrder 7", "1 true"])
  }

  @Test("In asynchronous code")
  func asynchronous() async throws {
    let shop = Shop(print, answersAtOnce: true)
    // guide async
    let receipt = try await withCancelScope("checkout") { scope in
      let order = scope.undo(of: scope.run { shop.order("tea") }) { shop.cancelOrder($0) }
      let number = try await order.value
      let receipt = try await scope.run { shop.pay(number) }.value
      try scope.commit()
      return receipt
    }
    // end
    #expect(receipt == "paid 7" && print.lines == [])
  }
}
