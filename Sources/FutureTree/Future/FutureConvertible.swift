/// A value that a future can take its outcome from: a `Future`, a `Completion` or an `Outcome`.
///
/// The bodies of `onSuccess` and `onComplete` return one of them:
///
/// ```swift
/// let comments = user
///   .onSuccess { user in api.posts(of: user) }                     // Future<[Post]>
///   .onSuccess { posts in posts.isEmpty ? .failed(NoPosts()) : api.comments(on: posts[0]) }
/// ```
///
/// Each operator has one closure shape, and this protocol is how one shape accepts all three. Overloads that differ only in
/// the result of their closures would make the compiler try every combination of them along a chain. `flatMap`, which takes
/// futures only, costs the compiler least: prefer it in a long chain whose closures have operators or literals.
///
/// A body of several statements names its result. The compiler cannot infer `.failed` there:
///
/// ```swift
/// let posts = user.onSuccess { user -> Future<[Post]> in
///   guard user.isActive else { return .failed(NoPosts()) }
///   return api.posts(of: user)
/// }
/// ```
///
/// A type of your own can conform, to be returned from a body as it is.
public protocol FutureConvertible<Output>: Sendable {
  /// The type of the value.
  associatedtype Output: Sendable

  /// The completion that this value stands for.
  var completion: Completion<Output> { get }
}

extension Future: FutureConvertible {
  /// The completion that takes over the outcome of this future: `completeUsing`.
  @inlinable public var completion: Completion<Value> { .completeUsing(self) }
}

extension Completion: FutureConvertible {
  /// This completion.
  @inlinable public var completion: Completion { self }
}

extension Outcome: FutureConvertible {
  /// The completion with this outcome.
  @inlinable public var completion: Completion<Value> { Completion(self) }
}

// MARK: - Futures by their outcome

// With these, `.succeeded(value)` is enough as the one expression of a body, and where a body names `Future` as its result.

extension FutureConvertible {
  /// Returns a future that succeeded, where a body returns any type that is convertible to a future.
  ///
  /// ```swift
  /// let text = download.onComplete { outcome in .succeeded("\(outcome)") }
  /// ```
  @inlinable public static func succeeded<Value>(_ value: Value) -> Future<Value> where Self == Future<Value> {
    Future<Value>.succeeded(value)
  }

  /// Returns a future that failed, where a body returns any type that is convertible to a future.
  @inlinable public static func failed<Value>(_ error: any Error) -> Future<Value> where Self == Future<Value> {
    Future<Value>.failed(error)
  }

  /// Returns a future that was cancelled, where a body returns any type that is convertible to a future.
  @inlinable public static func cancelled<Value>(_ reason: CancellationReason) -> Future<Value>
  where Self == Future<Value> {
    Future<Value>.cancelled(reason)
  }
}

extension FutureConvertible where Self == Future<Void> {
  /// A future that succeeded without a value, where a body returns any type that is convertible to a future.
  @inlinable public static var succeeded: Future<Void> { .succeeded(()) }
}
