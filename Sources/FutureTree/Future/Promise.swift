/// An object that completes a future.
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
/// The first completion takes effect. Each later completion returns `false` and has no effect. See
/// <doc:Cancellation#Requests-not-commands>.
///
/// If a promise is dropped before it is completed, its future completes: as `.cancelled` if the future was asked to
/// cancel, otherwise with `BrokenPromise`. See <doc:Cancellation#A-dropped-promise>.
public final class Promise<Value: Sendable>: Sendable {
  @usableFromInline let source: Source
  /// A static string: a `String` would cost each promise 100 instructions.
  @usableFromInline let fileID: StaticString
  @usableFromInline let line: UInt

  /// Creates a promise. The error of a dropped promise names the file and the line. In debug builds of this package,
  /// drawings of the tree show them as well.
  @inlinable public init(fileID: StaticString = #fileID, line: UInt = #line) {
    source = Future<Value>.source(.promise)
    self.fileID = fileID
    self.line = line
    #if DEBUG
      source.record(CodeLocation(fileID: fileID.description, line: line))
    #endif
  }

  /// Creates a promise for a caller that passes on a file and a line.
  public convenience init(fileID: String, line: UInt) {
    self.init(.promise, fileID: fileID, line: line)
  }

  @inlinable init(_ createdBy: Operator, fileID: StaticString = #fileID, line: UInt = #line) {
    source = Future<Value>.source(createdBy)
    (self.fileID, self.line) = (fileID, line)
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

  /// The future that this promise completes. Every call returns the same future.
  @inlinable public var future: Future<Value> { Future(node: source) }

  /// The strongest cancellation request that took effect on the future. `nil` if there was none.
  public var cancelRequest: CancelRequest? { future.cancelRequest }
}

// MARK: - Completing

extension Promise {
  /// Completes the future, or seals the promise onto another future, whose outcome the future then takes.
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

  /// Completes the future as `.cancelled`.
  ///
  /// - Parameters:
  ///   - reason: The reason. If it is `nil`, the reason for the received request is used. If no request was received, the
  ///     reason has the file and line of this call.
  ///   - fileID: The file of the call.
  ///   - line: The line of the call.
  /// - Returns: `false` if the promise was completed or sealed before. Then nothing changes.
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
  /// Completes the future without a value.
  @discardableResult
  public func succeed() -> Bool {
    succeed(())
  }
}

// MARK: - Handling cancellation requests

extension Promise {
  /// Installs a handler that runs when the future is asked to cancel.
  ///
  /// ```swift
  /// promise.onRequestCancel { request in
  ///   timer.stop()
  ///   return .complete(.cancelled)
  /// }
  /// ```
  ///
  /// Handlers run outside every lock, in reverse order of installation, each at most once. The first `.complete` decides
  /// the outcome. See <doc:Cancellation#Handlers-run>. A request that was stored before is delivered to the handler at
  /// once. See <doc:Cancellation#No-request-is-lost>. When the promise is completed, its handlers are released.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs the handler. Defaults to `.immediate`.
  ///   - handler: A closure that answers the request. It does not need to capture the promise, because
  ///     `request.complete(_:)` can complete the promise later.
  /// - Returns: A handle that removes the handler. Dropping the handle removes nothing.
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

  /// Installs a handler that runs on the main actor when the future is asked to cancel.
  @discardableResult
  public func onRequestCancel(
    on _: MainExecutor,
    _ handler: @escaping @MainActor @Sendable (ReceivedCancelRequest<Value>) -> CancelRequestResponse<Value>
  ) -> CancelHandler {
    onRequestCancel(on: MainExecutor.executor) { request in MainExecutor.assume { handler(request) } }
  }
}

/// A cancellation request that a handler received.
public struct ReceivedCancelRequest<Value: Sendable>: Sendable {
  @usableFromInline let source: Source
  @usableFromInline let request: CancelRequest

  @inlinable init(source: Source, request: CancelRequest) {
    self.source = source
    self.request = request
  }

  /// The options of the request.
  public var options: CancellationOptions { request.options }

  /// The reason for the request, with the file and line of the call.
  public var reason: CancellationReason { request.reason }

  /// Completes the future that received the request, now or later. A handler therefore needs no reference to its promise.
  ///
  /// - Returns: `false` if the promise was completed or sealed before.
  @discardableResult
  public func complete(_ completion: Completion<Value>) -> Bool {
    source.fulfill(completion, innerRole: .answer(to: request))
  }
}

extension ReceivedCancelRequest: CustomStringConvertible, CustomReflectable {
  /// The text of the request, as `CancelRequest` prints it.
  public var description: String { request.description }

  /// The options and the reason.
  public var customMirror: Mirror { Mirror(self, children: ["options": options, "reason": reason]) }
}

/// A handle that removes a handler installed with `onRequestCancel`.
public struct CancelHandler: Sendable {
  let entry: HandlerEntry

  @usableFromInline init(entry: HandlerEntry) {
    self.entry = entry
  }

  /// Removes the handler, if it has not been called.
  ///
  /// ```swift
  /// let handler = promise.onRequestCancel { _ in
  ///   timer.stop()
  ///   return .complete(.cancelled)
  /// }
  /// if handler.remove() { timer.stop() }  // Otherwise the handler stops it.
  /// ```
  ///
  /// - Returns: Whether this call removed the handler, which then never runs. `false` if the handler was called, or if it was
  ///   removed or released before. The end of a promise releases its handlers.
  /// - Complexity: O(1).
  @discardableResult
  public func remove() -> Bool {
    entry.remove()
  }
}

// MARK: - Completing the source

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

  /// Seals the source and takes its handlers in one step. A later request is delivered to `inner`.
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

  /// Delivers the request of a source that ended while the body ran to the future that the body returned. Law 5 (force).
  func forwardRequest(to inner: Node) {
    guard let request = lock.withLock({ state.requests.furthest?.forwarded }) else { return }
    CancellationPropagation.run(Signal(node: inner, request: request))
  }

  @usableFromInline func promiseWasFulfilled() {
    releaseHandlers()
    Trampoline.notify(self)
  }

  /// Whether the promise of this source was completed or sealed.
  @usableFromInline var isFulfilled: Bool { lock.withLock { state.phase != .waiting } }

  /// - Parameter createdAt: The line that created the promise, used if the node has not recorded one.
  @usableFromInline func breakPromise(valueType: String, createdAt: CodeLocation) {
    let error = BrokenPromise(valueType: valueType, createdAt: lock.withLock { place } ?? createdAt)
    // One step. Otherwise a request between two steps would be answered, and the outcome would contradict the answer.
    let isBroken = lock.withLock {
      guard state.phase == .waiting else { return false }
      return state.requests.asked == nil ? endLocked(failing: error) : endCancelled(.unspecified)
    }
    if isBroken { promiseWasFulfilled() }
  }
}

/// The error of a future whose promise was deallocated before it was completed. See <doc:Cancellation#A-dropped-promise>.
public struct BrokenPromise: Error, Hashable, CustomStringConvertible {
  /// The type of the promised value.
  public let valueType: String
  /// The file that created the promise, as `Module/File.swift`.
  public let fileID: String
  /// The line that created the promise.
  public let line: UInt

  fileprivate init(valueType: String, createdAt: CodeLocation) {
    self.valueType = valueType
    fileID = createdAt.fileID
    line = createdAt.line
  }

  public var description: String {
    "Promise<\(valueType)> created at \(fileID):\(line) was deallocated before it was completed. "
      + "Complete the promise on every path."
  }
}

extension Promise {
  /// Completes with the future that a body returned. If the promise was forced while the body ran, that future receives
  /// the request without the force. Law 5 (force).
  @discardableResult
  package func seal(onto future: Future<Value>) -> Bool {
    if source.seal(onto: future.node, as: .work) { return true }
    source.forwardRequest(to: future.node)
    return false
  }

  /// Completes the future with the result of `body`. If `body` throws an error that means a cancellation, cancels the future.
  @discardableResult
  @usableFromInline func complete(_ body: () throws -> Completion<Value>) -> Bool {
    do {
      return complete(try Trampoline.run(body))
    } catch let cancelled as FutureCancelled {
      return complete(.cancelled(cancelled.reason))
    } catch {
      return complete(error is CancellationError ? .cancelled : .failure(error))
    }
  }
}

/// A handler entry that knows the value type of its promise.
@usableFromInline
final class PromiseHandler<Value: Sendable>: HandlerEntry, @unchecked Sendable {  // Because: see `HandlerEntry`.
  @usableFromInline typealias Handler = @Sendable (ReceivedCancelRequest<Value>) -> CancelRequestResponse<Value>

  @exclusivity(unchecked) @usableFromInline var handler: Handler?

  @inlinable init(of source: Source, on executor: FutureExecutor, _ handler: @escaping Handler) {
    self.handler = handler
    super.init(of: source, on: executor) { entry, source, request in
      let entry = unsafeDowncast(entry, to: PromiseHandler<Value>.self)
      guard let handler = entry.handler.take(), let request else { return }
      let received = ReceivedCancelRequest<Value>(source: source, request: request)
      if case .complete(let completion) = handler(received) {
        source.fulfill(completion, innerRole: .answer(to: request))
      }
    }
  }
}
