import FutureTree

/// The events of the inputs of a join.
enum Situation: CaseIterable {
  /// They have completed before the join is created.
  case completed
  /// They complete after it, in their order, or in the opposite order.
  case later, reversed
  /// The third fails, or is cancelled. The others succeed.
  case failure, cancellation
  /// The join receives a cancellation request, which the inputs answer in different ways.
  case request
}

/// Creates the inputs of one join, and completes them.
final class Inputs {
  private let situation: Situation
  private var count = 0
  private var completions: [() -> Void] = []

  init(_ situation: Situation) { self.situation = situation }

  func callAsFunction<Value: Shape>(_: Value.Type) -> Future<Value> {
    count += 1
    let number = count
    if situation == .completed { return .succeeded(Value(number)) }
    let promise = Promise<Value>()
    if situation == .request {
      promise.onRequestCancel { request in
        switch number % 4 {
        case 0: .continue
        case 1: .complete(.success(Value(number)))
        case 2: .complete(.cancelled)
        default: .complete(.completeUsing(.cancelled(request.reason)))
        }
      }
    }
    completions.append {
      switch (self.situation, number) {
      case (.failure, 3): promise.fail(Fault(number: number))
      case (.cancellation, 3): promise.completeCancelled("input \(number)")
      default: promise.succeed(Value(number))
      }
    }
    return promise.future
  }

  func complete() {
    for completion in situation == .reversed ? completions.reversed() : completions { completion() }
    completions = []
  }
}

/// Prints the outcome of a join in each situation, as every kind of consumer receives it.
func check<Value: Sendable>(_ name: String, _ join: (Inputs) -> Future<Value>) {
  for situation in Situation.allCases {
    let (inputs, log) = (Inputs(situation), Log())
    let future = join(inputs)
    future.observe { log("observed \($0.text)") }
    let mapped = future.map { value in
      log("mapped \(value)")
      return value
    }
    if situation == .request { future.cancel(reason: "a request") }
    inputs.complete()
    show("\(name), \(situation): \(future.text), \(log.text), \(mapped.text)")
  }
  show("\(name): \(Reference.alive.load(ordering: .relaxed)) objects are alive")
}

/// The joins of 0 to 12 values of one type.
func checkJoins<Value: Shape>(of type: Value.Type) {
  for count in 0...12 {
    func futures(_ inputs: Inputs) -> [Future<Value>] { (0..<count).map { _ in inputs(type) } }
    check("all of \(count) \(type)") { Future.all(futures($0)) }
    check("any of \(count) \(type)") { .any(futures($0)) }
    check("race of \(count) \(type)") { .race(futures($0)) }
    check("allSettled of \(count) \(type)") { inputs in
      Future.allSettled(futures(inputs)).map { outcomes in outcomes.map(\.text) }
    }
  }
}

/// The joins of 2 to 12 values of three types in turn.
func checkZips<A: Shape, B: Shape, C: Shape>(_ a: A.Type, _ b: B.Type, _ c: C.Type) {
  let types = "\(a), \(b), \(c)"
  check("zip of 2 \(types)") { .zip($0(a), $0(b)) }
  check("zip of 3 \(types)") { .zip($0(a), $0(b), $0(c)) }
  check("zip of 4 \(types)") { .zip($0(a), $0(b), $0(c), $0(a)) }
  check("zip of 5 \(types)") { .zip($0(a), $0(b), $0(c), $0(a), $0(b)) }
  check("zip of 6 \(types)") { .zip($0(a), $0(b), $0(c), $0(a), $0(b), $0(c)) }
  check("zip of 7 \(types)") { .zip($0(a), $0(b), $0(c), $0(a), $0(b), $0(c), $0(a)) }
  check("zip of 8 \(types)") { .zip($0(a), $0(b), $0(c), $0(a), $0(b), $0(c), $0(a), $0(b)) }
  check("zip of 9 \(types)") { .zip($0(a), $0(b), $0(c), $0(a), $0(b), $0(c), $0(a), $0(b), $0(c)) }
  check("zip of 10 \(types)") { .zip($0(a), $0(b), $0(c), $0(a), $0(b), $0(c), $0(a), $0(b), $0(c), $0(a)) }
  check("zip of 11 \(types)") { .zip($0(a), $0(b), $0(c), $0(a), $0(b), $0(c), $0(a), $0(b), $0(c), $0(a), $0(b)) }
  check("zip of 12 \(types)") {
    .zip($0(a), $0(b), $0(c), $0(a), $0(b), $0(c), $0(a), $0(b), $0(c), $0(a), $0(b), $0(c))
  }
}
