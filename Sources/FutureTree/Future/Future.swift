/// A value that is on its way.
///
/// ```swift
/// let user = api.load(.user(1))
/// let posts = user.onSuccess { user in api.load(.posts(of: user)) }
/// posts.cancel(reason: "the page was closed")
/// ```
///
/// A future completes once: with a value, with an error, or `.cancelled`. Futures made from one another by operators form
/// a tree, and a request to cancel travels through it, from a future to what it depends on. `cancel` is a wish; what came
/// of it is the future's outcome.
///
/// A `Future` is a handle: copies are the same future and compare equal. Dropping a handle changes nothing. All methods
/// can be called from any thread and from inside any callback.
public struct Future<Value: Sendable>: Sendable {
  @usableFromInline let node: Node

  @usableFromInline init(node: Node) {
    self.node = node
  }
}

// MARK: - Futures that have ended

extension Future {
  /// A future that succeeded.
  @inlinable public static func succeeded(_ value: Value) -> Future {
    let node = Node(
      succeededOwning: !_isPOD(Value.self),
      step: StoredStep { entry, upstream, action in
        unsafeDowncast(entry, to: Node.self)
          .perform(action, with: upstream, as: Value.self)
      })
    node.storage.initialize(to: value, as: Value.self)
    return Future(node: node)
  }

  /// A future that failed.
  @inlinable public static func failed(_ error: any Error) -> Future {
    let source = Future.source()
    _ = source.fail(error)
    return Future(node: source)
  }

  /// A future that was cancelled.
  @inlinable public static func cancelled(_ reason: CancellationReason) -> Future {
    let source = Future.source()
    _ = source.cancel(reason)
    return Future(node: source)
  }

  /// Calls `body` now, and returns its future, or a future that failed with the error that it throws.
  ///
  /// ```swift
  /// func user(_ name: String) -> Future<User> {
  ///   .attempt {
  ///     let key = try cacheKey(for: name)
  ///     return cache.load(key)
  ///   }
  /// }
  /// ```
  ///
  /// It keeps functions that return futures from throwing as well. `CancellationError` and `FutureCancelled` make a cancelled
  /// future (law 15).
  public static func attempt(_ body: () throws -> Future) -> Future {
    do {
      return try body()
    } catch {
      let source = Future.source()
      _ = source.fail(throwing: error)
      return Future(node: source)
    }
  }

  /// A pending future that only the caller can complete.
  ///
  /// - Parameter executor: where the work behind it runs, if that is known.
  @inlinable static func source(
    _ createdBy: Operator = .promise, runningOn executor: FutureExecutor = .immediate
  ) -> Source {
    Source(
      createdBy: createdBy, executor: executor,
      step: StoredStep { entry, upstream, action in
        let source = unsafeDowncast(entry, to: Source.self)
        if action == .callObserver || action == .releaseObserver {
          source.performObserver(action, as: Value.self)
          return false
        }
        return source.perform(action, with: upstream, as: Value.self)
      })
  }
}

extension Future where Value == Void {
  /// A future that succeeded with nothing to tell.
  public static var succeeded: Future { .succeeded(()) }
}

// MARK: - Looking at it

extension Future {
  /// The outcome, or nil while the future is pending.
  public var outcomeIfCompleted: Outcome<Value>? {
    node.ending == nil ? nil : node.outcome(as: Value.self)
  }

  /// Whether the future has an outcome.
  public var isCompleted: Bool { node.ending != nil }

  /// The strongest request to cancel that took effect on this future, whatever became of it; nil if there was none.
  ///
  /// A request that was withheld because others still wait has not taken effect.
  public var cancelRequest: CancelRequest? { node.lock.withLock { node.state.requests.asked } }
}

extension Future: Hashable {
  public static func == (left: Future, right: Future) -> Bool { left.node === right.node }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(node))
  }
}

// MARK: - Cancelling

extension Future {
  /// Asks this future, and what it depends on now, to stop.
  ///
  /// ```swift
  /// let receipt = posts.cancel(reason: "the page was closed")
  /// ```
  ///
  /// With no options, everything upstream is asked, even where other consumers wait; see `CancellationOptions` for less.
  /// The future then waits for what comes back: a success that raced the request stays a success.
  ///
  /// - Parameters:
  ///   - options: how far the request goes.
  ///   - reason: why; handlers and `.cancelled` outcomes carry it, with the file and the line of this call.
  ///   - fileID: the file that asks.
  ///   - line: the line that asks.
  /// - Returns: what the request met on its way.
  /// - Complexity: O(futures + edges) that the request reaches.
  @discardableResult
  public func cancel(
    _ options: CancellationOptions = [], reason: CancellationReason? = nil, fileID: String = #fileID, line: UInt = #line
  ) -> CancelReceipt {
    let request = CancelRequest(options: options, reason: reason, fileID: fileID, line: line)
    return CancellationPropagation.run(Signal(node: node, request: request))
  }

  /// Says what `cancel` would come to if it was called now, and does nothing.
  ///
  /// ```swift
  /// if case .withheld(by: let others) = download.previewCancel(.doNotForwardIfOthersWaiting).effect {
  ///   print("\(others) others want it")
  /// }
  /// ```
  ///
  /// What handlers would do is not known: they are counted, not called. Other threads may change the tree meanwhile.
  ///
  /// - Returns: the receipt that `cancel` would return (law 17).
  /// - Complexity: O(futures + edges) that the request would reach.
  public func previewCancel(_ options: CancellationOptions = []) -> CancelReceipt {
    CancellationPropagation.preview(
      Signal(node: node, request: CancelRequest(options: options, reason: .unspecified)))
  }
}

// MARK: - Marks

extension Future {
  /// Marks this future as shared, and returns it.
  ///
  /// ```swift
  /// let session = signIn().shared()
  /// let inbox = session.onSuccess { loadInbox($0) }
  /// let calendar = session.onSuccess { loadCalendar($0) }
  /// inbox.cancel()  // `session` goes on: `calendar` wants it.
  /// ```
  ///
  /// While others wait for it, every request that reaches it is treated as `doNotForwardIfOthersWaiting`, whatever options
  /// were given, force included (law 6). It protects the future it marks, not what that one depends on.
  @discardableResult
  public func shared() -> Future {
    node.lock.withLock {
      if node.state.isPending { node.state.isShared = true }
    }
    return self
  }

  /// Gives this future a name, and returns it. Pictures of the tree show the name, and the line that gave it.
  @discardableResult
  public func named(_ name: String, fileID: String = #fileID, line: UInt = #line) -> Future {
    node.setName(name, at: CodeLocation(fileID: fileID, line: line))
    return self
  }
}

extension Future {
  /// Gives this future a name that it shares with others, and returns it.
  ///
  /// - Complexity: O(1), without an allocation if the future has no details of its own.
  @discardableResult
  package func named(_ name: FutureName) -> Future {
    node.setName(name)
    return self
  }
}
