import FutureTree
import OpenCombine
import OpenCombineBridge
import Testing

@Suite("Futures from publishers")
struct FutureOfPublisherTests {
  private let log = Log()

  @Test("The first value completes the future and cancels the subscription")
  func first() {
    let subject = PassthroughSubject<Int, Oops>()
    let future = subject.handleEvents(receiveCancel: { [log] in log("cancelled") }).future()

    for value in 1...2 { subject.send(value) }

    #expect(state(of: future) == "success(1)")
    #expect(log.lines == ["cancelled"])
  }

  @Test("The future demands one value")
  func demand() {
    let future = [7, 8].publisher.handleEvents(receiveRequest: { [log] in log("\($0)") }).future()

    #expect(state(of: future) == "success(7)")
    #expect(log.lines == ["max(1)"])
  }

  @Test("A publisher's error fails the future")
  func failure() {
    let subject = PassthroughSubject<Int, Oops>()
    let future = subject.future()

    subject.send(completion: .failure(Oops()))

    #expect(state(of: future) == "failure(oops)")
  }

  @Test("The failure of a cancelled future's publisher is a cancellation")
  func cancelledFailure() {
    let future = FutureTree.Future<Int>.cancelled("gone").publisher.future()

    #expect(state(of: future) == "cancelled(gone)")
  }

  @Test("A publisher that finishes without a value fails the future")
  func finished() {
    let future = Empty<Int, Never>().future()

    #expect(state(of: future) == "failure(\(FinishedWithoutValue()))")
  }

  @Test("A request cancels the subscription and completes the future")
  func cancels() {
    let subject = PassthroughSubject<Int, Oops>()
    let future = subject.handleEvents(receiveCancel: { [log] in log("cancelled") }).future()

    future.cancel(.doNotForwardIfOthersWaiting, reason: "why")
    subject.send(1)

    #expect(log.lines == ["cancelled"])
    #expect(state(of: future) == "cancelled(why)")
  }

  @Test("A subscription that arrives after the request is cancelled and demands nothing")
  func lateSubscription() {
    let slow = Slow(log: log)
    let future = slow.future()

    future.cancel()
    slow.subscribe()

    #expect(log.lines == ["cancelled"])
    #expect(state(of: future).hasPrefix("cancelled"))
  }

  @Test("A publisher that releases its subscriber fails the future with BrokenPromise, which names the caller's line")
  func releasesSubscriber() {
    let line: UInt = #line + 1
    let future = Slow(log: log).future()

    guard case .failure(let error as BrokenPromise)? = future.outcomeIfCompleted else {
      Issue.record("it is \(state(of: future))")
      return
    }
    #expect(error.line == line)
  }

  @Test("A request is forwarded through a publisher of a future")
  func thereAndBack() {
    let promise = Promise<Int>()
    promise.onRequestCancel { [log] request in
      log("asked \(request.options.contains(.doNotForwardIfOthersWaiting))")
      return .continue
    }
    let future = promise.future.publisher.map { $0 + 1 }.future()

    future.cancel()

    #expect(log.lines == ["asked true"])
    #expect(state(of: future).hasPrefix("cancelled"))
  }
}

/// A publisher that sends its subscription when the test calls `subscribe()`.
private final class Slow: Publisher {
  typealias Output = Int
  typealias Failure = Never

  private var subscribers: [AnySubscriber<Int, Never>] = []
  private let log: Log

  init(log: Log) {
    self.log = log
  }

  func receive<Downstream: Subscriber>(subscriber: Downstream)
  where Downstream.Input == Int, Downstream.Failure == Never {
    subscribers.append(AnySubscriber(subscriber))
  }

  func subscribe() {
    for subscriber in subscribers { subscriber.receive(subscription: Ticket(log: log)) }
  }

  private struct Ticket: Subscription {
    let combineIdentifier = CombineIdentifier()
    let log: Log

    func request(_ demand: Subscribers.Demand) { log("demanded \(demand)") }

    func cancel() { log("cancelled") }
  }
}

private func state(of future: FutureTree.Future<Int>) -> String {
  switch future.outcomeIfCompleted {
  case .success(let value): "success(\(value))"
  case .failure(let error): "failure(\(error))"
  case .cancelled(let reason): "cancelled(\(reason.message))"
  case nil: "pending"
  }
}
