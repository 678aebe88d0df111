/// The writing end of a future.
///
/// ```swift
/// func load(_ url: String) -> Future<Data> {
///   let promise = Promise<Data>()
///   let call = client.get(url) { promise.complete(with: $0) }
///   promise.onRequestCancel { _ in
///     call.cancel()       // The client confirms by calling back,
///     return .continue    // so the promise is completed there.
///   }
///   return promise.future
/// }
/// ```
///
/// The first completion wins; each later one returns `false` and changes nothing (law 1). A promise that is dropped before
/// it was completed completes its future: `.cancelled` if it was asked, otherwise with `BrokenPromise` (law 16).
public final class Promise<Value: Sendable>: Sendable {
  @usableFromInline let source: Source
  /// Plain bits: a `String` would cost a promise 100 instructions.
  @usableFromInline let fileID: StaticString
  @usableFromInline let line: UInt

  /// Creates a promise. The file and the line appear in the error of a promise that is dropped and, in debug builds of this
  /// package, in pictures of the tree.
  @inlinable public init(fileID: StaticString = #fileID, line: UInt = #line) {
    source = Future<Value>.source(.promise)
    self.fileID = fileID
    self.line = line
    #if DEBUG
      source.record(CodeLocation(fileID: fileID.description, line: line))
    #endif
  }

  /// Creates a promise for a caller whose file and line were handed on.
  public convenience init(fileID: String, line: UInt) {
    self.init(.promise, fileID: fileID, line: line)
  }

  @inlinable init(_ createdBy: Operator, fileID: String, line: UInt) {
    source = Future<Value>.source(createdBy)
    self.fileID = ""
    self.line = 0
    source.record(CodeLocation(fileID: fileID, line: line))
  }

  @inlinable deinit {
    if !source.isKnownToBeFulfilled { breakIfPending() }
  }

  @inlinable @inline(never) func breakIfPending() {
    if source.isFulfilled { return }
    source.breakPromise(valueType: "\(Value.self)", createdAt: CodeLocation(fileID: fileID.description, line: line))
  }

  /// The reading end: the same future each time.
  @inlinable public var future: Future<Value> { Future(node: source) }

  /// The strongest request to cancel that took effect on the future; nil if there was none.
  public var cancelRequest: CancelRequest? { future.cancelRequest }
}

// MARK: - Completing

extension Promise {
  /// Completes the future, or seals it onto another future, whose outcome it will have.
  ///
  /// - Returns: `false` if the promise was completed or sealed before. Then nothing changes.
  @discardableResult
  public func complete(_ completion: Completion<Value>) -> Bool {
    source.fulfill(completion, innerRole: .work)
  }

  /// Completes the future with an outcome.
  @discardableResult
  public func complete(with outcome: Outcome<Value>) -> Bool {
    complete(Completion(outcome))
  }

  /// Completes the future with a value.
  @inlinable @discardableResult
  public func succeed(_ value: Value) -> Bool {
    source.fulfill(value: value)
  }

  /// Completes the future with an error.
  @discardableResult
  public func fail(_ error: any Error) -> Bool {
    complete(.failure(error))
  }

  /// Completes the future `.cancelled`: with the reason given, else with that of the request that asked for it.
  @discardableResult
  public func completeCancelled(
    _ reason: CancellationReason? = nil, fileID: String = #fileID, line: UInt = #line
  ) -> Bool {
    if let reason { return complete(.cancelled(reason.asked(fileID: fileID, line: line))) }
    guard cancelRequest == nil else { return complete(.cancelled) }
    return complete(.cancelled(CancellationReason.unspecified.asked(fileID: fileID, line: line)))
  }
}

extension Promise where Value == Void {
  /// Completes the future, which has nothing to tell.
  @discardableResult
  public func succeed() -> Bool {
    succeed(())
  }
}

// MARK: - Being asked

extension Promise {
  /// Installs what to do when the future is asked to cancel.
  ///
  /// ```swift
  /// promise.onRequestCancel { request in
  ///   timer.stop()
  ///   return .complete(.cancelled)
  /// }
  /// ```
  ///
  /// Handlers run outside every lock, the last installed first, each at most once ever; the first `.complete` decides. A
  /// request that came before is given to the handler at once (law 8). When the promise is completed, its handlers are
  /// released.
  ///
  /// - Parameters:
  ///   - executor: where the handler runs.
  ///   - handler: answers the request. It need not capture the promise: `request.complete(_:)` completes it later.
  /// - Returns: a handle with which the handler can be taken out. Dropping the handle changes nothing.
  /// - Complexity: O(1).
  @inlinable @discardableResult
  public func onRequestCancel(
    on executor: FutureExecutor = .immediate,
    _ handler: @escaping @Sendable (ReceivedCancelRequest<Value>) -> CancelRequestResponse<Value>
  ) -> CancelHandler {
    let entry = PromiseHandler(of: source, on: executor, handler)
    source.install(entry)
    return CancelHandler(entry: entry)
  }

  /// Installs a handler on the main actor, for when the future is asked to cancel.
  @discardableResult
  public func onRequestCancel(
    on _: MainExecutor,
    _ handler: @escaping @MainActor @Sendable (ReceivedCancelRequest<Value>) -> CancelRequestResponse<Value>
  ) -> CancelHandler {
    onRequestCancel(on: MainExecutor.executor) { request in MainExecutor.assume { handler(request) } }
  }
}

/// A request to cancel, as a handler receives it.
public struct ReceivedCancelRequest<Value: Sendable>: Sendable {
  @usableFromInline let source: Source
  @usableFromInline let request: CancelRequest

  @inlinable init(source: Source, request: CancelRequest) {
    self.source = source
    self.request = request
  }

  /// How far the request goes.
  public var options: CancellationOptions { request.options }

  /// Why, and which line asked.
  public var reason: CancellationReason { request.reason }

  /// Completes the future that was asked, now or later, so that a handler needs no reference to its promise.
  ///
  /// - Returns: `false` if the promise was completed or sealed before.
  @discardableResult
  public func complete(_ completion: Completion<Value>) -> Bool {
    source.fulfill(completion, innerRole: .answer(to: request))
  }
}

/// A handler that was installed with `onRequestCancel`.
public struct CancelHandler: Sendable {
  let entry: HandlerEntry

  @usableFromInline init(entry: HandlerEntry) {
    self.entry = entry
  }

  /// Takes the handler out, if it has not been called. O(1).
  public func remove() {
    entry.remove()
  }
}

// MARK: - The source

extension Source {
  @inlinable @discardableResult
  func fulfill<Value: Sendable>(_ completion: Completion<Value>, innerRole: InnerRole) -> Bool {
    let isFulfilled: Bool
    switch completion {
    case .success(let value): isFulfilled = succeed(value, byPromise: true)
    case .failure(let error): isFulfilled = fail(error, byPromise: true)
    case .cancelled(let reason): isFulfilled = cancel(reason, byPromise: true)
    case .completeUsing(let future): return seal(onto: future.node, as: innerRole)
    }
    if isFulfilled { promiseWasFulfilled() }
    return isFulfilled
  }

  /// The handlers are taken with the seal: a request that comes later is for `inner`.
  @usableFromInline func seal(onto inner: Node, as role: InnerRole) -> Bool {
    let handlers: LinkedList<HandlerEntry>? = lock.withLock {
      guard state.isPending, state.seal() else { return nil }
      return takeUnaskedHandlers()
    }
    guard var handlers else { return false }
    let hasEnded = Trampoline.run { link(to: inner, as: role) }
    HandlerEntry.release(&handlers)
    if hasEnded { Trampoline.notify(self) }
    return true
  }

  @usableFromInline func promiseWasFulfilled() {
    releaseHandlers()
    Trampoline.notify(self)
  }

  /// Whether its promise was completed or sealed.
  @usableFromInline var isFulfilled: Bool { lock.withLock { state.phase != .waiting } }

  /// - Parameter createdAt: where, unless this future knows that itself.
  @usableFromInline func breakPromise(valueType: String, createdAt: CodeLocation) {
    let error = BrokenPromise(valueType: valueType, createdAt: lock.withLock { place } ?? createdAt)
    // One step: a request that comes in between would be answered, and the outcome deny it.
    let isBroken = lock.withLock {
      guard state.phase == .waiting else { return false }
      return state.requests.asked == nil ? endLocked(failing: error) : endCancelled(.unspecified)
    }
    if isBroken { promiseWasFulfilled() }
  }
}

/// The error of a future whose promise was dropped before it was completed (law 16).
public struct BrokenPromise: Error, Hashable, CustomStringConvertible {
  /// The type of the value that was promised.
  public let valueType: String
  /// The file that made the promise, as `Module/File.swift`.
  public let fileID: String
  /// The line that made the promise.
  public let line: UInt

  fileprivate init(valueType: String, createdAt: CodeLocation) {
    self.valueType = valueType
    fileID = createdAt.fileID
    line = createdAt.line
  }

  public var description: String {
    "Promise<\(valueType)> made at \(fileID):\(line) was dropped before it was completed. "
      + "Complete it on every path, or fail it where its work is abandoned."
  }
}
