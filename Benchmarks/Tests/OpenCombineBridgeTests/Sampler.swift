import FutureTree
import OpenCombine

struct Oops: Error, CustomStringConvertible {
  var description: String { "oops" }
}

/// A log of strings for one thread.
final class Log: @unchecked Sendable {  // Because: these tests use one thread.
  private(set) var lines: [String] = []

  func callAsFunction(_ line: String) {
    lines.append(line)
  }
}

/// A subscriber that logs its events, and requests a given demand.
final class Sampler: Subscriber {
  private let name: String
  private let log: Log
  private let demand: Subscribers.Demand?
  private let whenSubscribed: (any Subscription) -> Void
  var subscription: (any Subscription)?

  init(
    _ name: String, _ log: Log, _ demand: Subscribers.Demand?,
    whenSubscribed: @escaping (any Subscription) -> Void = { _ in }
  ) {
    self.name = name
    self.log = log
    self.demand = demand
    self.whenSubscribed = whenSubscribed
  }

  func receive(subscription: any Subscription) {
    self.subscription = subscription
    log("\(name) subscribed")
    if let demand { subscription.request(demand) }
    whenSubscribed(subscription)
  }

  func receive(_ input: Int) -> Subscribers.Demand {
    log("\(name) \(input)")
    return .none
  }

  func receive(completion: Subscribers.Completion<any Error>) {
    switch completion {
    case .finished: log("\(name) finished")
    case .failure(let error as FutureCancelled): log("\(name) failed: \(error.reason.message)")
    case .failure(let error): log("\(name) failed: \(error)")
    }
  }
}
