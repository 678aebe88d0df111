extension Future {
  /// Calls `body` for each item, with a limited number of futures in flight, and returns a future of all values in the
  /// order of the items.
  ///
  /// ```swift
  /// let pages = Future.traverse(urls, atMost: 4) { url in api.load(url) }
  /// ```
  ///
  /// The first failure or cancellation decides the outcome. Items that have not begun do not begin, and the futures in
  /// flight are asked to cancel with `doNotForwardIfOthersWaiting`. See <doc:Cancellation#Deciding-detaches>.
  ///
  /// A cancellation request is forwarded to the futures in flight. Items that have not begun do not begin. The returned
  /// future is `.cancelled` once the futures in flight have completed, even if one of them fails. It succeeds if all items
  /// had begun and succeed.
  ///
  /// - Parameters:
  ///   - items: The items. The sequence is read completely before this method returns.
  ///   - limit: The maximum number of futures in flight. If it is less than 1, the future fails with `InvalidArgument`.
  ///   - executor: The executor that runs `body`. Defaults to `.immediate`.
  ///   - fileID: The file of the call, for the error.
  ///   - line: The line of the call, for the error.
  ///   - body: Returns the future of an item. If it throws, its item fails.
  /// - Returns: A future that is a consumer of each future while it waits for that future. If there are no items, it
  ///   succeeds with an empty array.
  /// - Complexity: O(n).
  public static func traverse<Item: Sendable>(
    _ items: some Sequence<Item>, atMost limit: Int, on executor: FutureExecutor = .immediate,
    fileID: String = #fileID, line: UInt = #line, _ body: @escaping @Sendable (Item) throws -> Future
  ) -> Future<[Value]> {
    traverse(items, atMost: limit, fileID: fileID, line: line) { item, isOver in
      .work(on: executor, unless: isOver) { try body(item) }
    }
  }

  /// Performs `traverse` with the work that `begin` begins.
  ///
  /// - Parameter begin: Receives an item, and a closure that returns whether the traversal has completed.
  static func traverse<Item: Sendable>(
    _ items: some Sequence<Item>, atMost limit: Int, fileID: String, line: UInt,
    beginningWith begin: @escaping @Sendable (_ item: Item, _ isOver: @escaping @Sendable () -> Bool) -> Future
  ) -> Future<[Value]> {
    let items = Array(items)
    if let error = InvalidArgument.limit(limit, in: "traverse(_:atMost:)", fileID, line) { return .failed(error) }
    guard !items.isEmpty else { return .succeeded([]) }
    let begin = { @Sendable (index: Int, join: Join) in begin(items[index]) { join.ending != nil }.node }
    return Traversal(count: items.count, lanes: limit, endsEarly: true).run(begin) { $0.values(asked: $1) }
  }

  /// Calls `body` for each item, with a limited number of futures in flight, and returns a future of the outcomes in the order of
  /// the items.
  ///
  /// ```swift
  /// let uploads = Future.traverseSettled(photos, atMost: 4, onProgress: bar.show) { photo in
  ///   api.upload(photo)
  /// }
  /// uploads.cancel()
  /// uploads.map { outcomes in print("\(outcomes.count { $0 == nil }) photos were not begun") }
  /// ```
  ///
  /// No value is lost. A failed item does not stop the others. A cancellation request is forwarded to the futures in flight, and
  /// items that have not begun do not begin. The returned future succeeds in each case, once the futures in flight have completed.
  /// Only a request with `forceImmediately` or `doNotForwardRequest` completes it as `.cancelled`.
  ///
  /// - Parameters:
  ///   - items: The items. The sequence is read completely before this method returns.
  ///   - limit: The maximum number of futures in flight. If it is less than 1, the future fails with `InvalidArgument`.
  ///   - executor: The executor that runs `body`. Defaults to `.immediate`.
  ///   - fileID: The file of the call, for the error.
  ///   - line: The line of the call, for the error.
  ///   - onProgress: Receives the number of items that have completed, and of all items, each time that an item completes. It
  ///     is called outside every lock, where the item completes. With several threads, calls can overlap.
  ///   - body: Returns the future of an item. If it throws, its item fails.
  /// - Returns: A future that is a consumer of each future while it waits for that future. An outcome is `nil` if the item has not
  ///   begun. If there are no items, it succeeds with an empty array.
  /// - Complexity: O(n).
  public static func traverseSettled<Item: Sendable>(
    _ items: some Sequence<Item>, atMost limit: Int, on executor: FutureExecutor = .immediate,
    fileID: String = #fileID, line: UInt = #line,
    onProgress: (@Sendable (_ finished: Int, _ total: Int) -> Void)? = nil,
    _ body: @escaping @Sendable (Item) throws -> Future
  ) -> Future<[Outcome<Value>?]> {
    let items = Array(items)
    let error = InvalidArgument.limit(limit, in: "traverseSettled(_:atMost:)", fileID, line)
    if let error { return .failed(error) }
    guard !items.isEmpty else { return .succeeded([]) }
    let begin = { @Sendable (index: Int, join: Join) in
      let isOver = { @Sendable in join.ending != nil }
      return Future.work(on: executor, unless: isOver) { try body(items[index]) }.node
    }
    return Traversal(count: items.count, lanes: limit, endsEarly: false)
      .run(begin, onProgress) { traversal, _ in .success(traversal.outcomes) }
  }

  /// Calls `body` for each item on the main actor, and returns a future of the outcomes in the order of the items.
  public static func traverseSettled<Item: Sendable>(
    _ items: some Sequence<Item>, atMost limit: Int, on _: MainExecutor, fileID: String = #fileID, line: UInt = #line,
    onProgress: (@Sendable (_ finished: Int, _ total: Int) -> Void)? = nil,
    _ body: @escaping @MainActor @Sendable (Item) throws -> Future
  ) -> Future<[Outcome<Value>?]> {
    traverseSettled(
      items, atMost: limit, on: MainExecutor.executor, fileID: fileID, line: line, onProgress: onProgress
    ) { item in
      try MainExecutor.assume { try body(item) }
    }
  }

  /// Calls `body` for each item on the main actor, and returns a future of all values in the order of the items.
  public static func traverse<Item: Sendable>(
    _ items: some Sequence<Item>, atMost limit: Int, on _: MainExecutor,
    fileID: String = #fileID, line: UInt = #line, _ body: @escaping @MainActor @Sendable (Item) throws -> Future
  ) -> Future<[Value]> {
    traverse(items, atMost: limit, on: MainExecutor.executor, fileID: fileID, line: line) { item in
      try MainExecutor.assume { try body(item) }
    }
  }
}

extension InvalidArgument {
  fileprivate static func limit(_ limit: Int, in function: String, _ fileID: String, _ line: UInt) -> InvalidArgument? {
    guard limit < 1 else { return nil }
    return InvalidArgument(function, "the limit is \(limit). Pass at least 1.", fileID: fileID, line: line)
  }
}

/// The progress of a traversal. Each lane waits for one item at a time.
private struct Traversal<Value: Sendable>: Sendable {
  enum Next {
    /// The lane continues with this item.
    case begins(Int)
    case waits
    case ends(Outcome<Never>)
  }

  /// The outcomes of the items. `nil` for an item that has not completed.
  private(set) var outcomes: [Outcome<Value>?]
  private var unfinished: Int
  /// The item that each lane waits for.
  private var lanes: [Int]
  private var next: Int
  /// Whether the first item that does not succeed ends the traversal.
  private let endsEarly: Bool
  /// The reason of the first item that was cancelled after the request.
  private var reason: CancellationReason?

  init(count: Int, lanes: Int, endsEarly: Bool) {
    outcomes = Array(repeating: nil, count: count)
    unfinished = count
    self.lanes = Array(0..<min(lanes, count))
    next = self.lanes.count
    self.endsEarly = endsEarly
  }

  /// Runs the traversal.
  ///
  /// - Parameters:
  ///   - begin: Begins an item.
  ///   - onProgress: Receives the number of completed items, and of all.
  ///   - result: Returns the outcome when no lane waits.
  func run<Result>(
    _ begin: @escaping @Sendable (Int, Join) -> Node, _ onProgress: (@Sendable (Int, Int) -> Void)? = nil,
    _ result: @escaping @Sendable (Traversal, CancelRequest?) -> Outcome<Result>
  ) -> Future<Result> {
    let state = Locked(self)
    let rule = JoinNode<Result>.Rule { join in
      let request = join.request
      return state.withLock { result($0, request) }
    } whenEnded: { slot, input in
      let outcome = input.outcome(as: Value.self)
      let isAsked = slot.join.request != nil
      let (next, unfinished) = state.withLock { traversal in
        (traversal.laneEnded(slot.index, with: outcome, isAsked: isAsked), traversal.unfinished)
      }
      onProgress?(outcomes.count - unfinished, outcomes.count)
      switch next {
      case .begins(let index): return .waitsFor(begin(index, slot.join))
      case .waits: return .waits
      case .ends(.failure(let error)): return .ends(.failure(error))
      case .ends(.cancelled(let reason)): return .ends(.cancelled(reason))
      }
    }
    let join = JoinNode<Result>(.traverse, rule: rule)
    for slot in join.makeSlots(lanes.count) where join.ending == nil {
      join.wait(in: slot, for: begin(slot.index, join))
    }
    return Future<Result>(node: join)
  }

  /// - Parameter isAsked: Whether the traversal was asked to cancel. Then it begins no item and waits for the other lanes,
  ///   whatever the outcome.
  mutating func laneEnded(_ lane: Int, with outcome: Outcome<Value>, isAsked: Bool) -> Next {
    outcomes[lanes[lane]] = outcome
    unfinished -= 1
    switch outcome {
    case .failure(let error) where endsEarly && !isAsked: return .ends(.failure(error))
    case .cancelled(let reason) where endsEarly && !isAsked: return .ends(.cancelled(reason))
    case .cancelled(let reason): self.reason = self.reason ?? reason
    case .success, .failure: break
    }
    guard !isAsked, next < outcomes.count else { return .waits }
    lanes[lane] = next
    next += 1
    return .begins(lanes[lane])
  }

  /// The values of all items, if each has succeeded.
  func values(asked request: CancelRequest?) -> Outcome<[Value]> {
    let values = outcomes.compactMap { outcome in if case .success(let value) = outcome { value } else { nil } }
    return values.count == outcomes.count ? .success(values) : .cancelled(reason ?? request?.reason ?? .unspecified)
  }
}
