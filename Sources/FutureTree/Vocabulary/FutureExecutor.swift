/// Where a body runs.
///
/// ```swift
/// let parsed = download.map(on: .global()) { try parse($0) }
/// let title = parsed.map { $0.title }  // `.immediate`: where `parsed` completes
/// ```
///
/// `immediate` is the default of every operator. Bodies that must run on the main actor take `.main`, which is a type of
/// its own (`MainExecutor`), because their closures are isolated.
///
/// - Note: A job that an executor drops without running it does not leave its future hanging: the future fails with
///   `DroppedJob`.
public struct FutureExecutor: Sendable {
  /// What an executor is given to run, once.
  public typealias Job = @Sendable () -> Void

  /// Nil for `immediate`. One reference, because every operator takes an executor.
  @usableFromInline let target: Target?

  @inlinable init(target: Target?) {
    self.target = target
  }

  private init(
    submit: @escaping @Sendable (@escaping Job) -> Void, isCurrentSerial: (@Sendable () -> Bool)? = nil
  ) {
    target = Target(submit: submit, isCurrentSerial: isCurrentSerial)
  }

  @usableFromInline
  final class Target: Sendable {
    let submit: @Sendable (@escaping Job) -> Void
    /// Set where jobs run one at a time: whether the calling thread is running one of them.
    let isCurrentSerial: (@Sendable () -> Bool)?

    init(submit: @escaping @Sendable (@escaping Job) -> Void, isCurrentSerial: (@Sendable () -> Bool)?) {
      self.submit = submit
      self.isCurrentSerial = isCurrentSerial
    }
  }

  /// Runs bodies where the completion happens: after the callback that the completing thread is in, if it is in one,
  /// else before the completing call returns.
  @inlinable public static var immediate: FutureExecutor { FutureExecutor(target: nil) }

  /// Hands each job to `submit`, which runs it once, at any time, on any thread.
  ///
  /// ```swift
  /// let onPool = FutureExecutor.custom { job in pool.enqueue(job) }
  /// ```
  public static func custom(_ submit: @escaping @Sendable (_ job: @escaping Job) -> Void) -> FutureExecutor {
    FutureExecutor(submit: submit)
  }

  /// Hands each job to `submit`, which runs one at a time, in order.
  ///
  /// ```swift
  /// let onLoop = FutureExecutor.serial { job in
  ///   loop.enqueue(job)
  /// } isCurrent: {
  ///   loop.isCurrent
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - submit: runs a job once.
  ///   - isCurrent: whether the calling thread is running one of these jobs. `wait(for:)` throws there instead of waiting
  ///     for a body that cannot run before it returns.
  public static func serial(
    _ submit: @escaping @Sendable (_ job: @escaping Job) -> Void, isCurrent: @escaping @Sendable () -> Bool
  ) -> FutureExecutor {
    FutureExecutor(submit: submit, isCurrentSerial: isCurrent)
  }

  @inlinable var isImmediate: Bool { target == nil }

  /// Whether a job cannot run before the caller returns.
  var isBlockedByCaller: Bool { target?.isCurrentSerial?() ?? false }
}

/// The error of a future whose executor dropped the body without running it, such as a pool that was shut down.
public struct DroppedJob: Error, Hashable, CustomStringConvertible {
  /// For tests of what handles it.
  public init() {}

  public var description: String {
    "An executor dropped a job without running it. Keep the executor running until its futures have completed."
  }
}
