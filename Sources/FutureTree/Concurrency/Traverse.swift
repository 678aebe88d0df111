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
    guard limit > 0 else {
      let problem = "the limit is \(limit). Pass at least 1."
      return .failed(InvalidArgument("traverse(_:atMost:)", problem, fileID: fileID, line: line))
    }
    guard !items.isEmpty else { return .succeeded([]) }
    let traversal = Locked(Traversal<Value>(count: items.count, lanes: min(limit, items.count)))
    let begin = { @Sendable (index: Int, join: Join) in begin(items[index]) { join.ending != nil }.node }
    let rule = JoinNode<[Value]>.Rule { join in
      let request = join.request
      return traversal.withLock { $0.outcome(asked: request) }
    } whenEnded: { slot, input in
      let outcome = input.outcome(as: Value.self)
      let isAsked = slot.join.request != nil
      switch traversal.withLock({ $0.laneEnded(slot.index, with: outcome, isAsked: isAsked) }) {
      case .begins(let index): return .waitsFor(begin(index, slot.join))
      case .waits: return .waits
      case .ends(let outcome): return .ends(outcome)
      }
    }
    let join = JoinNode<[Value]>(.traverse, rule: rule)
    for slot in join.makeSlots(min(limit, items.count)) where join.ending == nil {
      join.wait(in: slot, for: begin(slot.index, join))
    }
    return Future<[Value]>(node: join)
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

/// The progress of a traversal. Each lane waits for one item at a time.
private struct Traversal<Value: Sendable> {
  enum Next {
    /// The lane continues with this item.
    case begins(Int)
    case waits
    case ends(Outcome<[Value]>)
  }

  private var values: [Value?]
  private var unfinished: Int
  /// The item that each lane waits for.
  private var lanes: [Int]
  private var next: Int
  /// The reason of the first item that was cancelled after the request.
  private var reason: CancellationReason?

  init(count: Int, lanes: Int) {
    values = Array(repeating: nil, count: count)
    unfinished = count
    self.lanes = Array(0..<lanes)
    next = lanes
  }

  /// - Parameter isAsked: Whether the traversal was asked to cancel. Then it begins no item and waits for the other lanes,
  ///   whatever the outcome.
  mutating func laneEnded(_ lane: Int, with outcome: Outcome<Value>, isAsked: Bool) -> Next {
    switch outcome {
    case .success(let value):
      values[lanes[lane]] = value
      unfinished -= 1
    case .failure(let error):
      if !isAsked { return .ends(.failure(error)) }
    case .cancelled(let reason):
      if !isAsked { return .ends(.cancelled(reason)) }
      self.reason = self.reason ?? reason
    }
    guard !isAsked, next < values.count else { return .waits }
    lanes[lane] = next
    next += 1
    return .begins(lanes[lane])
  }

  /// The outcome when no lane waits.
  func outcome(asked request: CancelRequest?) -> Outcome<[Value]> {
    guard unfinished > 0 else { return .success(values.compactMap { $0 }) }
    return .cancelled(reason ?? request?.reason ?? .unspecified)
  }
}
