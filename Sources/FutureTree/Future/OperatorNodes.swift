// The nodes of the futures that operators make. Each node stores its typed body. The code that does not need the types is
// in `Node`. The step is a closure without captures, so each link of a chain is one object.

/// The node of a future whose body maps the value to another value.
@usableFromInline
final class MapNode<Input: Sendable, Output: Sendable>: Node, @unchecked Sendable {  // Because: see `FutureState`, 2.
  @exclusivity(unchecked) @usableFromInline var body: (@Sendable (Input) throws -> Output)?

  @inlinable init(
    _ createdBy: Operator, on executor: FutureExecutor, _ body: @escaping @Sendable (Input) throws -> Output
  ) {
    self.body = body
    super.init(
      createdBy: createdBy, executor: executor,
      step: StoredStep { entry, upstream, action in
        let node = unsafeDowncast(entry, to: MapNode<Input, Output>.self)
        if action == .run { return node.run(with: upstream) }
        return node.perform(action, with: upstream, as: Output.self) { node.body = nil }
      })
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

/// The node of a future whose body returns the future that it takes its outcome from.
@usableFromInline
final class FlatMapNode<Input: Sendable, Output: Sendable>: Node, @unchecked Sendable {  // Because: see `MapNode`.
  @exclusivity(unchecked) @usableFromInline var body: (@Sendable (Input) throws -> Future<Output>)?

  @inlinable init(
    _ createdBy: Operator, on executor: FutureExecutor, _ body: @escaping @Sendable (Input) throws -> Future<Output>
  ) {
    self.body = body
    super.init(
      createdBy: createdBy, executor: executor,
      step: StoredStep { entry, upstream, action in
        let node = unsafeDowncast(entry, to: FlatMapNode<Input, Output>.self)
        if action == .run { return node.run(with: upstream) }
        return node.perform(action, with: upstream, as: Output.self) { node.body = nil }
      })
  }

  @inlinable @inline(__always) func run(with upstream: Node) -> Bool {
    guard let body = body.take() else { return false }
    do {
      return resolve(with: try body(upstream.value(as: Input.self)).node, as: Output.self)
    } catch {
      return fail(throwing: error)
    }
  }
}

/// The node of a future of any other operator with one upstream. The body completes the future or links it to an inner
/// future. It returns whether the future has ended. Without a body, the future takes the outcome of its upstream.
@usableFromInline
final class BodyNode<Output: Sendable>: Node, @unchecked Sendable {  // Because: see `MapNode`.
  /// - Parameter upstream: The future whose outcome the body reads. If the branch completed early, `upstream` is `node`. The
  ///   node is cancelled then, and it ignores the result of the body.
  @usableFromInline typealias Body = @Sendable (_ node: Node, _ upstream: Node) throws -> Bool

  @exclusivity(unchecked) @usableFromInline var body: Body?

  @inlinable init(_ createdBy: Operator, on executor: FutureExecutor = .immediate, _ body: Body? = nil) {
    self.body = body
    super.init(
      createdBy: createdBy, executor: executor,
      step: StoredStep { entry, upstream, action in
        let node = unsafeDowncast(entry, to: BodyNode<Output>.self)
        if action == .run { return node.run(with: upstream) }
        return node.perform(action, with: upstream, as: Output.self) { node.body = nil }
      })
  }

  @inlinable @inline(__always) func run(with upstream: Node) -> Bool {
    guard let body = body.take() else { return false }
    do {
      return try body(self, upstream)
    } catch {
      return fail(throwing: error)
    }
  }
}

extension Future {
  @inlinable func mapNode<U>(
    _ createdBy: Operator, _ executor: FutureExecutor, _ body: @escaping @Sendable (Value) throws -> U
  ) -> Future<U> {
    derive(MapNode(createdBy, on: executor, body))
  }

  @inlinable func flatMapNode<U>(
    _ createdBy: Operator, _ executor: FutureExecutor, _ body: @escaping @Sendable (Value) throws -> Future<U>
  ) -> Future<U> {
    derive(FlatMapNode(createdBy, on: executor, body))
  }

  /// Returns a future whose body receives the outcome and returns a completion.
  @inlinable func completionNode<U>(
    _ createdBy: Operator, _ executor: FutureExecutor,
    _ body: @escaping @Sendable (Outcome<Value>) throws -> Completion<U>
  ) -> Future<U> {
    bodyNode(createdBy, executor) { node, upstream in
      let outcome = upstream.outcome(as: Value.self)
      let completion = try body(outcome)
      return completion.resolve(node, innerRole: outcome.ending == .cancelled ? .cleanUp : .work)
    }
  }

  /// Returns a future whose body reads the outcome. The future then takes the outcome of `self`.
  @inlinable func passingNode(
    _ createdBy: Operator, _ executor: FutureExecutor, _ body: @escaping @Sendable (_ upstream: Node) -> Void
  ) -> Future {
    bodyNode(createdBy, executor) { node, upstream in
      body(upstream)
      return node.pass(upstream, as: Value.self)
    }
  }

  @inlinable func bodyNode<U>(
    _ createdBy: Operator, _ executor: FutureExecutor, _ body: @escaping BodyNode<U>.Body
  ) -> Future<U> {
    derive(BodyNode<U>(createdBy, on: executor, body))
  }

  @inlinable func derive<U>(_ derived: Node) -> Future<U> {
    node.attachDerived(derived)
    return Future<U>(node: derived)
  }
}
