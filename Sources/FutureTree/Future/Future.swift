/// A value that becomes available later.
///
/// ```swift
/// let user = api.load(.user(1))
/// let posts = user.onSuccess { user in api.load(.posts(of: user)) }
/// posts.cancel(reason: "the page was closed")
/// ```
///
/// A future completes exactly once: with a value, with an error, or as `.cancelled`. Operators create derived futures, which
/// form a tree. A cancellation request propagates through the tree, from a future to the futures that it depends on.
/// `cancel` is a request: the outcome of the future shows its effect. See <doc:Cancellation>.
///
/// A `Future` is a handle. Copies are the same future and compare equal. Dropping a copy has no effect. All methods can
/// be called from any thread and from inside any callback.
public struct Future<Value: Sendable>: Sendable {
  @usableFromInline let node: Node

  @usableFromInline init(node: Node) {
    self.node = node
  }
}

// MARK: - Creating completed futures

extension Future {
  /// Returns a future that has succeeded with a value.
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

  /// Returns a future that has failed with an error.
  @inlinable public static func failed(_ error: any Error) -> Future {
    let source = Future.source()
    _ = source.fail(error)
    return Future(node: source)
  }

  /// Returns a cancelled future.
  @inlinable public static func cancelled(_ reason: CancellationReason) -> Future {
    let source = Future.source()
    _ = source.cancel(reason)
    return Future(node: source)
  }

  /// Returns a cancelled future. Its reason has the file and line of this call.
  public static func cancelled(fileID: String = #fileID, line: UInt = #line) -> Future {
    .cancelled(CancellationReason.unspecified.asked(fileID: fileID, line: line))
  }

  /// Calls `body` now, and returns its future. If `body` throws, returns a future that has failed with that error.
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
  /// Use this method in functions that return a future, so that callers do not have to handle thrown errors as well. If
  /// `body` throws `CancellationError` or `FutureCancelled`, the future is cancelled. See
  /// <doc:Cancellation#A-task-as-a-source>.
  public static func attempt(_ body: () throws -> Future) -> Future {
    do {
      return try body()
    } catch {
      let source = Future.source()
      _ = source.fail(throwing: error)
      return Future(node: source)
    }
  }

  /// Returns a pending future that only the caller can complete.
  ///
  /// - Parameter executor: The executor that runs the work behind the future, if it is known.
  @inlinable static func source(
    _ createdBy: Operator = .promise, runningOn executor: FutureExecutor = .immediate
  ) -> Source {
    Source(
      createdBy: createdBy, executor: executor,
      step: StoredStep { entry, upstream, action in
        let source = unsafeDowncast(entry, to: Source.self)
        if action == .callObserver || action == .releaseObserver {
          return source.performObserver(action, as: Value.self)
        }
        return source.perform(action, with: upstream, as: Value.self)
      })
  }
}

extension Future where Value == Void {
  /// A future that has succeeded without a value.
  public static var succeeded: Future { .succeeded(()) }
}

// MARK: - Reading the state

extension Future {
  /// The outcome, or `nil` while the future is pending.
  public var outcomeIfCompleted: Outcome<Value>? {
    node.ending == nil ? nil : node.outcome(as: Value.self)
  }

  /// Whether the future has an outcome.
  public var isCompleted: Bool { node.ending != nil }

  /// The strongest cancellation request that took effect on this future, regardless of its result. `nil` if there was
  /// none.
  ///
  /// A request that was withheld because other consumers have interest has not taken effect.
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
  /// Asks this future, and the futures that it depends on now, to cancel.
  ///
  /// ```swift
  /// let receipt = posts.cancel(reason: "the page was closed")
  /// ```
  ///
  /// By default, every future upstream is asked to cancel, even where other consumers wait. `options` can limit the request.
  /// The future then waits for the outcome of its upstream. If the work completes first, its result is kept. See
  /// <doc:Cancellation#Forwarding>.
  ///
  /// - Parameters:
  ///   - options: The limits of the request.
  ///   - reason: The reason. Handlers and `.cancelled` outcomes carry it, with the file and line of this call.
  ///   - fileID: The file of the call.
  ///   - line: The line of the call.
  /// - Returns: A receipt that reports what happened to the request.
  /// - Complexity: O(n) in the number of futures and edges that the request reaches.
  @discardableResult
  public func cancel(
    _ options: CancellationOptions = [], reason: CancellationReason? = nil, fileID: String = #fileID, line: UInt = #line
  ) -> CancelReceipt {
    let request = CancelRequest(options: options, reason: reason, fileID: fileID, line: line)
    return CancellationPropagation.run(Signal(node: node, request: request))
  }

  /// Returns the receipt that `cancel` would return now, without side effects.
  ///
  /// ```swift
  /// if case .withheld(by: let others) = download.previewCancel(.doNotForwardIfOthersWaiting).effect {
  ///   print("\(others) others want it")
  /// }
  /// ```
  ///
  /// Handlers are counted but not called, so their answers are not known. Other threads can change the tree in the meantime.
  ///
  /// - Returns: The receipt that `cancel` would return. See <doc:Cancellation#Receipts>.
  /// - Complexity: O(n) in the number of futures and edges that the request would reach.
  public func previewCancel(_ options: CancellationOptions = []) -> CancelReceipt {
    CancellationPropagation.preview(
      Signal(node: node, request: CancelRequest(options: options, reason: .unspecified)))
  }
}

// MARK: - Sharing and naming

extension Future {
  /// Marks this future as shared, and returns it.
  ///
  /// ```swift
  /// let session = signIn().shared()
  /// let inbox = session.onSuccess { loadInbox($0) }
  /// let calendar = session.onSuccess { loadCalendar($0) }
  /// inbox.cancel()  // `session` continues: `calendar` has interest in it.
  /// ```
  ///
  /// While other consumers have interest, every request that reaches this future is treated as
  /// `doNotForwardIfOthersWaiting`, regardless of its options, including force. The mark protects this future, not the
  /// futures that it depends on. See <doc:Cancellation#Shared-futures>.
  @discardableResult
  public func shared() -> Future {
    node.lock.withLock {
      if node.state.isPending { node.state.isShared = true }
    }
    return self
  }

  /// Marks this future as shared, delays a request of its last consumer, and returns the future.
  ///
  /// ```swift
  /// let feed = loadFeed().shared(linger: .seconds(5))
  /// feed.map { show($0) }.cancel()  // The user scrolled away. The receipt's effect is `lingering`.
  /// let again = feed.map { show($0) }  // The user is back within 5 s: the same load continues.
  /// ```
  ///
  /// The mark has the effect of `shared()`. In addition, the future keeps interest in itself until a duration has passed after
  /// its last consumer withdrew. A request without other consumers is then *lingering*: the requester's branch completes at
  /// once, and the request is delivered at the end of the duration. A new consumer stops the timer, and the request is
  /// withheld until that consumer withdraws as well. See <doc:Cancellation#Lingering>.
  ///
  /// Force ends the linger: a request with `forceImmediately`, from this future or from further downstream, is delivered
  /// at once if no other consumer has interest. The timer is cancelled when the future completes.
  ///
  /// - Parameters:
  ///   - duration: The time for which the future keeps its interest. With zero or less, the mark is that of `shared()`. A
  ///     second call changes the duration for the next time.
  ///   - clock: The clock that measures the duration. Defaults to `.system`. A second call keeps the first clock.
  /// - Complexity: O(1). At most one timer of the clock is scheduled at a time.
  @discardableResult
  public func shared(linger duration: Duration, clock: any FutureClock = .system) -> Future {
    guard duration > .zero else { return shared() }
    node.linger(for: duration, clock: clock)
    return self
  }

  /// Gives this future a name, and returns it. Drawings of the tree show the name and the line of this call.
  @discardableResult
  public func named(_ name: String, fileID: String = #fileID, line: UInt = #line) -> Future {
    node.setName(name, at: CodeLocation(fileID: fileID, line: line))
    return self
  }
}

extension Future {
  /// Gives this future a name that several futures share, and returns it.
  ///
  /// - Complexity: O(1), without an allocation if the future has no details of its own.
  @discardableResult
  package func named(_ name: FutureName) -> Future {
    node.setName(name)
    return self
  }
}
