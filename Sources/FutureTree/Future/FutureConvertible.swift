/// A type that a future can take its outcome from: `Future`, `Completion` or `Outcome`.
///
/// The bodies of `onSuccess` and `onComplete` return one of these types:
///
/// ```swift
/// let comments = user
///   .onSuccess { user in api.posts(of: user) }                     // Future<[Post]>
///   .onSuccess { posts in posts.isEmpty ? .failed(NoPosts()) : api.comments(on: posts[0]) }
/// ```
///
/// Because of this protocol, each operator needs only one overload, whose closure can return any of these types. If there
/// were overloads that differ only in the results of their closures, the compiler would try every combination along a
/// chain. `flatMap` accepts only futures and is the fastest to compile. Prefer it in long chains whose closures contain
/// operators or literals.
///
/// A closure of several statements needs an explicit result type. Without it the compiler cannot infer `.failed`:
///
/// ```swift
/// let posts = user.onSuccess { user -> Future<[Post]> in
///   guard user.isActive else { return .failed(NoPosts()) }
///   return api.posts(of: user)
/// }
/// ```
///
/// Your own types can conform, so that a body can return them directly.
public protocol FutureConvertible<Output>: Sendable {
  /// The type of the value.
  associatedtype Output: Sendable

  /// The completion that this value represents.
  var completion: Completion<Output> { get }
}

extension Future: FutureConvertible {
  /// A `completeUsing` completion with this future.
  @inlinable public var completion: Completion<Value> { .completeUsing(self) }
}

extension Completion: FutureConvertible {
  /// This completion.
  @inlinable public var completion: Completion { self }
}

extension Outcome: FutureConvertible {
  /// A completion with this outcome.
  @inlinable public var completion: Completion<Value> { Completion(self) }
}

// MARK: - Completed futures as results of bodies

// These members make `.succeeded(value)` compile as the only expression of a body, and where a body returns `Future`.

extension FutureConvertible {
  /// Returns a future that has succeeded with a value. Use it in bodies that return a `FutureConvertible` type.
  ///
  /// ```swift
  /// let text = download.onComplete { outcome in .succeeded("\(outcome)") }
  /// ```
  @inlinable public static func succeeded<Value>(_ value: Value) -> Future<Value> where Self == Future<Value> {
    Future<Value>.succeeded(value)
  }

  /// Returns a future that has failed with an error. Use it in bodies that return a `FutureConvertible` type.
  @inlinable public static func failed<Value>(_ error: any Error) -> Future<Value> where Self == Future<Value> {
    Future<Value>.failed(error)
  }

  /// Returns a cancelled future. Use it in bodies that return a `FutureConvertible` type.
  @inlinable public static func cancelled<Value>(_ reason: CancellationReason) -> Future<Value>
  where Self == Future<Value> {
    Future<Value>.cancelled(reason)
  }
}

extension FutureConvertible where Self == Future<Void> {
  /// A future that has succeeded without a value. Use it in bodies that return a `FutureConvertible` type.
  @inlinable public static var succeeded: Future<Void> { .succeeded(()) }
}
