// Conversions to and from publishers. This file uses only the public interface. It is part of FutureTree where Combine is
// available. The package in `Benchmarks` compiles it against OpenCombine, and tests it there.

#if FUTURETREE_OPENCOMBINE
  import FutureTree
  import OpenCombine
#elseif canImport(Combine)
  import Combine
#endif

#if FUTURETREE_OPENCOMBINE || canImport(Combine)

  // MARK: - From futures

  extension FutureTree.Future {
    /// A publisher of the value.
    ///
    /// ```swift
    /// let name = api.user(1).publisher.map(\.name).sink { print($0) } receiveValue: { label.text = $0 }
    /// ```
    ///
    /// Each subscription is a consumer of this future from the moment it is created. Cancelling the subscription ends it at
    /// once, and withdraws its interest with a `doNotForwardIfOthersWaiting` request. See
    /// <doc:Cancellation#Stopping-where-others-wait>. The publisher holds the value until the subscriber demands one. It sends
    /// a failure without waiting for a demand.
    ///
    /// - Returns: A publisher that sends the value and finishes, or fails. If the future was cancelled, it fails with
    ///   `FutureCancelled`, which has the reason. It sends on the thread that completes the future or demands the value.
    public var publisher: FuturePublisher<Value> { FuturePublisher(future: self) }
  }

  /// A publisher of the value of a future.
  public struct FuturePublisher<Output: Sendable>: Publisher, Sendable {
    public typealias Failure = any Error

    fileprivate let future: FutureTree.Future<Output>

    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == any Error {
      let subscription = FutureSubscription(to: future, of: subscriber)
      subscriber.receive(subscription: subscription)
      subscription.start()
    }
  }

  /// One consumer of a future. It is built from futures. Two promises delay each event until it may be sent.
  private final class FutureSubscription<Output: Sendable>: Subscription, Sendable {
    /// Completed when the subscriber has its subscription. Then a failure can be sent.
    private let started: Promise<Void>
    /// Completed when the subscriber demands a value.
    private let demanded: Promise<Void>
    private let delivery: FutureTree.Future<Output>
    private let observation: FutureObservation

    init<Downstream: Subscriber>(to future: FutureTree.Future<Output>, of subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == any Error {
      let (started, demanded) = (Promise<Void>(), Promise<Void>())
      delivery = future.onComplete { [started = started.future, demanded = demanded.future] outcome in
        .completeUsing((outcome.ending == .succeeded ? demanded : started).map { try outcome.get() })
      }
      let send = Unshared { (outcome: Outcome<Output>) in
        do {
          _ = subscriber.receive(try outcome.get())
          subscriber.receive(completion: .finished)
        } catch {
          subscriber.receive(completion: .failure(error))
        }
      }
      observation = delivery.observe { outcome in send.value(outcome) }
      (self.started, self.demanded) = (started, demanded)
    }

    /// A subscriber that dropped its subscription without a demand receives no events and has no interest.
    deinit {
      guard !demanded.future.isCompleted else { return }
      observation.remove()
      delivery.cancel(
        .doNotForwardRequest, reason: CancellationReason("the subscription was deallocated", kind: .abandoned))
    }

    func start() {
      started.succeed()
    }

    func request(_ demand: Subscribers.Demand) {
      if demand > .none { demanded.succeed() }
    }

    func cancel() {
      observation.remove()
      delivery.cancel(.doNotForwardIfOthersWaiting, reason: "the subscription was cancelled")
    }
  }

  // MARK: - From publishers

  extension Publisher where Output: Sendable {
    /// Returns a future of the first value.
    ///
    /// ```swift
    /// let location = locations.filter(\.isPrecise).future()
    /// ```
    ///
    /// This method subscribes now and demands one value. After the value, the subscription is cancelled. A cancellation request
    /// cancels the subscription and completes the future as `.cancelled`.
    ///
    /// - Returns: A future that succeeds with the first value, or fails:
    ///   - with the publisher's error;
    ///   - with `FinishedWithoutValue`, if the publisher finishes first;
    ///   - with `BrokenPromise`, which names the line of this call, if the publisher drops its subscriber without an event.
    public func future(fileID: String = #fileID, line: UInt = #line) -> FutureTree.Future<Output> {
      let promise = Promise<Output>(fileID: fileID, line: line)
      let future = promise.future
      let subscriber = FirstValue<Output, Failure>(promise)
      promise.onRequestCancel { [weak subscriber] _ in
        subscriber?.cancel()
        return .complete(.cancelled)
      }
      subscribe(subscriber)
      return future
    }
  }

  /// A subscriber that completes a promise with the first value.
  private final class FirstValue<Input: Sendable, Failure: Error>: Subscriber, Sendable {
    private let promise: Promise<Input>
    private let subscription = Promise<Unshared<any Subscription>>()

    init(_ promise: Promise<Input>) {
      self.promise = promise
    }

    func receive(subscription: any Subscription) {
      guard self.subscription.succeed(Unshared(subscription)) else { return subscription.cancel() }
      if !promise.future.isCompleted { subscription.request(.max(1)) }
    }

    func receive(_ input: Input) -> Subscribers.Demand {
      if promise.succeed(input) { cancel() }
      return .none
    }

    func receive(completion: Subscribers.Completion<Failure>) {
      switch completion {
      case .finished: promise.fail(FinishedWithoutValue())
      case .failure(let error as FutureCancelled): promise.completeCancelled(error.reason)
      case .failure(let error): promise.fail(error)
      }
    }

    /// Cancels the subscription: now, or when it arrives.
    func cancel() {
      subscription.future.observe { outcome in
        if case .success(let subscription) = outcome { subscription.value.cancel() }
      }
    }
  }

  /// The error of a future whose publisher finished before it sent a value.
  public struct FinishedWithoutValue: Error, Hashable, CustomStringConvertible {
    /// Creates the error, for tests of error handling.
    public init() {}

    public var description: String {
      "A publisher finished without a value. Add a value with `replaceEmpty(with:)`, or recover from this error."
    }
  }

  /// A box that passes a value that Combine does not declare `Sendable` into a `@Sendable` closure.
  private struct Unshared<Value>: @unchecked Sendable {  // Because: subscribers are called serially, and
    let value: Value  // subscriptions may be called from any thread.

    init(_ value: Value) {
      self.value = value
    }
  }

#endif
