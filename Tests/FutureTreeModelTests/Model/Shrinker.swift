/// A shrinker that deletes operations from a program that shows a difference, and bypasses operators.
struct Shrinker {
  /// Whether a program shows a difference.
  let isDifferent: ([ModelOperation]) -> Bool

  /// A shrinker for programs in which library and model differ.
  static var failing: Shrinker {
    Shrinker { program in
      var ignored = LawTally()
      return ModelRun.difference(in: program, tally: &ignored) != nil
    }
  }

  /// Deletes operations, later ones first, until each further deletion removes the difference. An operator whose dependents are
  /// needed is bypassed: they depend on its upstream.
  func shrink(_ program: [ModelOperation]) -> [ModelOperation] {
    var shortest = program
    var hasChanged = true
    while hasChanged {
      hasChanged = false
      for index in shortest.indices.reversed() where index < shortest.count {
        for shorter in [false, true].lazy.compactMap({ Renumbering.program(shortest, without: index, bypasses: $0) })
        where isDifferent(shorter) {
          shortest = shorter
          hasChanged = true
          break
        }
      }
    }
    return shortest
  }
}

/// A renumbering that deletes one operation with its dependents, or bypasses one operator.
private struct Renumbering {
  private struct Map {
    var numbers: [Int?] = []
    private(set) var next = 0

    mutating func add(_ isKept: Bool) {
      numbers.append(isKept ? next : nil)
      if isKept { next += 1 }
    }

    /// Gives an element the number of another one.
    mutating func add(as number: Int?) { numbers.append(number) }
  }

  private var futures = Map()
  private var handlers = Map()
  private var tokens = Map()
  private var observations = Map()
  private var scopes = Map()

  /// - Returns: `nil` if the operation should be bypassed and is no operator with one upstream.
  static func program(_ program: [ModelOperation], without removed: Int, bypasses: Bool) -> [ModelOperation]? {
    var renumbering = Renumbering()
    if bypasses, program[removed].upstream == nil { return nil }
    return program.indices.compactMap { index in
      if index == removed, bypasses, let upstream = program[index].upstream {
        renumbering.bypass(program[index], to: upstream)
        return nil
      }
      let operation = index == removed ? nil : renumbering.renumbered(program[index])
      renumbering.note(program[index], isKept: operation != nil)
      return operation
    }
  }

  private mutating func bypass(_ operation: ModelOperation, to upstream: Int) {
    let number = future(upstream)
    if case .derive(.delayed, _, _, _, _) = operation { futures.add(false) }  // Its timer.
    futures.add(as: number)
  }

  private mutating func note(_ operation: ModelOperation, isKept: Bool) {
    switch operation {
    case .derive(.delayed, _, _, _, _):
      futures.add(isKept)  // Its timer.
      futures.add(isKept)
    case .makePromise, .derive, .join, .enqueue: futures.add(isKept)
    case .makeScope, .nestScope:
      futures.add(isKept)  // Its source.
      futures.add(isKept)
      scopes.add(isKept)
    case .undo: for _ in 1...3 { futures.add(isKept) }  // Its futures, which no operation names.
    case .install: handlers.add(isKept)
    case .takeToken: tokens.add(isKept)
    case .observe: observations.add(isKept)
    default: break
    }
  }

  private func renumbered(_ operation: ModelOperation) -> ModelOperation? {
    switch operation {
    case .makePromise, .makeScope, .runJob, .dropJobs, .advance: operation
    case .derive(let operation, let upstream, let body, let isOnExecutor, let act):
      both(future(upstream), completion(body)) {
        .derive(operation, from: $0, body: $1, isOnExecutor: isOnExecutor, act: act.flatMap(self.act))
      }
    case .join(let operation, let inputs): .join(operation, of: inputs.compactMap { future($0) })
    case .enqueue(let body, let isUrgent, let act):
      completion(body).map { .enqueue(body: $0, isUrgent: isUrgent, act: act.flatMap(self.act)) }
    case .nestScope(let policy, let number): scopes.numbers[number].map { .nestScope(policy, in: $0) }
    case .addWork(let work, let number):
      both(future(work), scopes.numbers[number]) { .addWork($0, scope: $1) }
    case .undo(let step, let number, let body, let act):
      scopes.numbers[number].flatMap { scope in
        both(future(step), completion(body)) { .undo(step: $0, scope: scope, body: $1, act: act.flatMap(self.act)) }
      }
    case .commit(let number): scopes.numbers[number].map { .commit(scope: $0) }
    case .endScope(let number): scopes.numbers[number].map { .endScope($0) }
    case .dropScope(let number): scopes.numbers[number].map { .dropScope($0) }
    case .share(let number): future(number).map { .share($0) }
    case .linger(let number): future(number).map { .linger($0) }
    case .endLinger(let number): future(number).map { .endLinger($0) }
    case .complete(let promise, let answer):
      both(future(promise), completion(answer)) { .complete(promise: $0, $1) }
    case .drop(let promise): future(promise).map { .drop(promise: $0) }
    case .install(let promise, let answer, let isOnExecutor, let act):
      both(future(promise), self.answer(answer)) {
        .install(promise: $0, $1, isOnExecutor: isOnExecutor, act: act.flatMap(self.act))
      }
    case .endHandler(let number): handlers.numbers[number].map { .endHandler($0) }
    case .answerLater(let number, let answer):
      both(handlers.numbers[number], completion(answer)) { .answerLater(handler: $0, $1) }
    case .cancel(let number, let request): future(number).map { .cancel($0, request) }
    case .cancelWithGrace(let number, let request): future(number).map { .cancelWithGrace($0, request) }
    case .takeToken(let number): future(number).map { .takeToken($0) }
    case .cancelToken(let number, let request): tokens.numbers[number].map { .cancelToken($0, request) }
    case .dropToken(let number): tokens.numbers[number].map { .dropToken($0) }
    case .observe(let number, let isOnExecutor, let act):
      future(number).map { .observe($0, isOnExecutor: isOnExecutor, act: act.flatMap(self.act)) }
    case .endObservation(let number): observations.numbers[number].map { .endObservation($0) }
    }
  }

  /// Returns the new number of a future. A body may name the future under construction, which has no number yet.
  private func future(_ number: Int) -> Int? {
    number == futures.numbers.count ? futures.next : futures.numbers[number]
  }

  private func completion(_ completion: ModelCompletion) -> ModelCompletion? {
    guard case .using(let inner) = completion else { return completion }
    return future(inner).map { .using($0) }
  }

  private func act(_ act: ModelAct) -> ModelAct? {
    switch act {
    case .complete(let promise, let value): future(promise).map { .complete(promise: $0, value: value) }
    case .cancel(let number, let request): future(number).map { .cancel($0, request) }
    }
  }

  private func answer(_ answer: ModelAnswer) -> ModelAnswer? {
    guard case .complete(let completion) = answer else { return answer }
    return self.completion(completion).map { .complete($0) }
  }

  private func both<First, Second>(
    _ first: First?, _ second: Second?, _ make: (First, Second) -> ModelOperation
  ) -> ModelOperation? {
    guard let first, let second else { return nil }
    return make(first, second)
  }
}

extension ModelOperation {
  /// The future that an operator is derived from.
  fileprivate var upstream: Int? {
    if case .derive(_, let upstream, _, _, _) = self { upstream } else { nil }
  }
}
