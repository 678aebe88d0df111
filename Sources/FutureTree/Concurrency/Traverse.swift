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
  /// future is `.cancelled` once the futures in flight have completed.
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
    let items = Array(items)
    guard limit > 0 else {
      let problem = "the limit is \(limit). Pass at least 1."
      return .failed(InvalidArgument("traverse(_:atMost:)", problem, fileID: fileID, line: line))
    }
    guard !items.isEmpty else { return .succeeded([]) }
    let traversal = Locked(Traversal<Value>(count: items.count, lanes: min(limit, items.count)))
    let begin = { @Sendable (index: Int, join: Join) -> Node in
      Future<Item>.succeeded(items[index]).flatMapNode(.work, executor) { item in
        // The future may have ended while the body waited on the executor.
        if join.ending != nil { throw CancellationError() }
        return try body(item)
      }.node
    }
    let rule = JoinNode<[Value]>.Rule { slot, input in
      let outcome = input.outcome(as: Value.self)
      let asked = slot.join.request
      switch traversal.withLock({ $0.laneEnded(slot.index, with: outcome, asked: asked) }) {
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
  private var busy: Int
  private var next: Int

  init(count: Int, lanes: Int) {
    values = Array(repeating: nil, count: count)
    unfinished = count
    self.lanes = Array(0..<lanes)
    busy = lanes
    next = lanes
  }

  mutating func laneEnded(_ lane: Int, with outcome: Outcome<Value>, asked: CancelRequest?) -> Next {
    switch outcome {
    case .failure(let error): return .ends(.failure(error))
    case .cancelled(let reason): return .ends(.cancelled(reason))
    case .success(let value): values[lanes[lane]] = value
    }
    unfinished -= 1
    if unfinished == 0 { return .ends(.success(values.compactMap { $0 })) }
    guard asked == nil, next < values.count else {
      busy -= 1
      guard busy == 0 else { return .waits }
      return .ends(.cancelled(asked?.reason ?? .unspecified))
    }
    lanes[lane] = next
    next += 1
    return .begins(lanes[lane])
  }
}
