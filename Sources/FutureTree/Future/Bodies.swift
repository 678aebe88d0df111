// The futures that operators make. Each holds the body, with its types, and nothing else: everything that does not need
// the types is in `Node`. The step is a closure without captures, so that a link of a chain is one object.

/// A future whose body makes a value of the value.
@usableFromInline
final class MapNode<Input: Sendable, Output: Sendable>: Node, @unchecked Sendable {  // Because: see `FutureState`, 2.
  @exclusivity(unchecked) @usableFromInline var body: (@Sendable (Input) throws -> Output)?

  @inlinable init(
    _ createdBy: Operator, on executor: FutureExecutor, _ body: @escaping @Sendable (Input) throws -> Output
  ) {
    self.body = body
    super.init(createdBy: createdBy, executor: executor) { entry, upstream, action in
      let node = unsafeDowncast(entry, to: MapNode<Input, Output>.self)
      if action == .run { return node.run(with: upstream) }
      return node.perform(action, with: upstream, as: Output.self) { node.body = nil }
    }
  }

  @inlinable @inline(__always) func run(with upstream: Node) -> Bool {
    guard let body = body.take() else { return false }
    do {
      return succeed(try body(upstream.value(as: Input.self)))
    } catch {
      return fail(throwing: error)
    }
  }
}

/// A future whose body returns what it takes its outcome from: a future, as a rule.
@usableFromInline  // Because: as `MapNode`.
final class FlatMapNode<Input: Sendable, Next: FutureConvertible>: Node, @unchecked Sendable {
  @exclusivity(unchecked) @usableFromInline var body: (@Sendable (Input) throws -> Next)?

  @inlinable init(
    _ createdBy: Operator, on executor: FutureExecutor, _ body: @escaping @Sendable (Input) throws -> Next
  ) {
    self.body = body
    super.init(createdBy: createdBy, executor: executor) { entry, upstream, action in
      let node = unsafeDowncast(entry, to: FlatMapNode<Input, Next>.self)
      if action == .run { return node.run(with: upstream) }
      return node.perform(action, with: upstream, as: Next.Output.self) { node.body = nil }
    }
  }

  @inlinable @inline(__always) func run(with upstream: Node) -> Bool {
    guard let body = body.take() else { return false }
    do {
      return try body(upstream.value(as: Input.self)).completion.resolve(self)
    } catch {
      return fail(throwing: error)
    }
  }
}

/// A future whose body answers the outcome with a completion: the general form.
final class CompletionNode<Input: Sendable, Output: Sendable>: Node, @unchecked Sendable {  // Because: as `MapNode`.
  typealias Body = @Sendable (Outcome<Input>) throws -> Completion<Output>

  @exclusivity(unchecked) private var body: Body?

  init(_ createdBy: Operator, on executor: FutureExecutor, _ body: @escaping Body) {
    self.body = body
    super.init(createdBy: createdBy, executor: executor) { entry, upstream, action in
      let node = unsafeDowncast(entry, to: CompletionNode<Input, Output>.self)
      if action == .run { return node.run(with: upstream) }
      return node.perform(action, with: upstream, as: Output.self) { node.body = nil }
    }
  }

  private func run(with upstream: Node) -> Bool {
    guard let body = body.take() else { return false }
    let isCleanUp = upstream.state.ending == .cancelled
    do {
      let completion = try body(outcome(given: upstream))
      return completion.resolve(self, innerRole: isCleanUp ? .cleanUp : .work)
    } catch {
      return fail(throwing: error)
    }
  }

  /// The outcome of upstream; where the branch ended early, our own, which can only be a cancellation.
  private func outcome(given upstream: Node) -> Outcome<Input> {
    upstream === self ? .cancelled(cancellationReason) : upstream.outcome(as: Input.self)
  }
}

/// A future whose body looks at the outcome, which then passes.
final class PassingNode<Value: Sendable>: Node, @unchecked Sendable {  // Because: as `MapNode`.
  typealias Body = @Sendable (Outcome<Value>) -> Void

  @exclusivity(unchecked) private var body: Body?

  init(_ createdBy: Operator, on executor: FutureExecutor, _ body: @escaping Body) {
    self.body = body
    super.init(createdBy: createdBy, executor: executor) { entry, upstream, action in
      let node = unsafeDowncast(entry, to: PassingNode<Value>.self)
      if action == .run { return node.run(with: upstream) }
      return node.perform(action, with: upstream, as: Value.self) { node.body = nil }
    }
  }

  private func run(with upstream: Node) -> Bool {
    guard let body = body.take() else { return false }
    let outcome: Outcome<Value> =
      upstream === self ? .cancelled(cancellationReason) : upstream.outcome(as: Value.self)
    body(outcome)
    guard upstream !== self else { return false }
    if case .success(let value) = outcome { return succeed(value) }
    return pass(upstream)
  }
}

/// A future that takes over the outcome of its upstream, and differs in how it is asked or ended.
final class PassThroughNode<Value: Sendable>: Node, @unchecked Sendable {  // Because: it has no fields.
  init(_ createdBy: Operator) {
    super.init(createdBy: createdBy) { entry, upstream, action in
      unsafeDowncast(entry, to: PassThroughNode<Value>.self)
        .perform(action, with: upstream, as: Value.self)
    }
  }
}

extension Future {
  @inlinable func mapNode<U>(
    _ createdBy: Operator, _ executor: FutureExecutor, _ body: @escaping @Sendable (Value) throws -> U
  ) -> Future<U> {
    derive(MapNode(createdBy, on: executor, body))
  }

  @inlinable func flatMapNode<Next: FutureConvertible>(
    _ createdBy: Operator, _ executor: FutureExecutor, _ body: @escaping @Sendable (Value) throws -> Next
  ) -> Future<Next.Output> {
    derive(FlatMapNode(createdBy, on: executor, body))
  }

  func completionNode<U>(
    _ createdBy: Operator, _ executor: FutureExecutor,
    _ body: @escaping @Sendable (Outcome<Value>) throws -> Completion<U>
  ) -> Future<U> {
    derive(CompletionNode(createdBy, on: executor, body))
  }

  func passingNode(
    _ createdBy: Operator, _ executor: FutureExecutor, _ body: @escaping @Sendable (Outcome<Value>) -> Void
  ) -> Future {
    derive(PassingNode(createdBy, on: executor, body))
  }

  @inlinable func derive<U>(_ derived: Node) -> Future<U> {
    node.attachDerived(derived)
    return Future<U>(node: derived)
  }
}
