/// An executor that runs the bodies of operators and handlers.
///
/// ```swift
/// let parsed = download.map(on: .global()) { try parse($0) }
/// let title = parsed.map { $0.title }  // `.immediate`: runs on the thread that completes `parsed`.
/// ```
///
/// Every operator defaults to `immediate`. For bodies that must run on the main actor, pass `.main`. It has its own type,
/// `MainExecutor`, because its closures are isolated to the main actor.
///
/// - Note: If an executor drops a job without running it, the future of the job does not hang: it fails with `DroppedJob`.
public struct FutureExecutor: Sendable {
  /// A closure that an executor runs once.
  public typealias Job = @Sendable () -> Void

  /// The target, or `nil` for `immediate`. One reference, because every operator takes an executor.
  @usableFromInline let target: Target?

  @inlinable init(target: Target?) {
    self.target = target
  }

  init(
    submit: @escaping @Sendable (@escaping Job) -> Void, isCurrentSerial: (@Sendable () -> Bool)? = nil
  ) {
    target = Target(submit: submit, isCurrentSerial: isCurrentSerial)
  }

  @usableFromInline
  class Target: @unchecked Sendable {  // Because: this class and its subclasses have constants only.
    final let submit: @Sendable (@escaping Job) -> Void
    /// Whether the calling thread is running a job of this executor. `nil` if jobs can run concurrently.
    final let isCurrentSerial: (@Sendable () -> Bool)?

    /// A phrase for errors. Made when an error needs it: an executor is made for each call of `.global()`.
    var name: String { isCurrentSerial == nil ? "a custom executor" : "a serial executor" }

    init(submit: @escaping @Sendable (@escaping Job) -> Void, isCurrentSerial: (@Sendable () -> Bool)?) {
      self.submit = submit
      self.isCurrentSerial = isCurrentSerial
    }
  }

  /// Runs bodies on the thread that completes the future. If that thread is inside a callback, bodies run after the
  /// callback. Otherwise they run before the completing call returns.
  @inlinable public static var immediate: FutureExecutor { FutureExecutor(target: nil) }

  /// Creates an executor that passes each job to `submit`, which runs it once, at any time, on any thread.
  ///
  /// ```swift
  /// let onPool = FutureExecutor.custom { job in pool.enqueue(job) }
  /// ```
  public static func custom(_ submit: @escaping @Sendable (_ job: @escaping Job) -> Void) -> FutureExecutor {
    FutureExecutor(submit: submit)
  }

  /// Creates a serial executor that passes each job to `submit`, which runs one job at a time, in order.
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
  ///   - submit: Runs a job once.
  ///   - isCurrent: Returns whether the calling thread is running one of these jobs. `wait(for:)` throws there. Otherwise it
  ///     would wait for a body that cannot run before `wait` returns.
  public static func serial(
    _ submit: @escaping @Sendable (_ job: @escaping Job) -> Void, isCurrent: @escaping @Sendable () -> Bool
  ) -> FutureExecutor {
    FutureExecutor(submit: submit, isCurrentSerial: isCurrent)
  }

  /// A phrase for errors, such as `the queue “parser”`.
  var name: String { target?.name ?? "the thread that completes its upstream" }

  @inlinable var isImmediate: Bool { target == nil }

  /// Whether a job cannot run before the caller returns.
  var isBlockedByCaller: Bool { target?.isCurrentSerial?() ?? false }
}

/// The error of a future whose executor dropped the body without running it. For example, a pool that was shut down drops
/// its jobs.
public struct DroppedJob: Error, Hashable, CustomStringConvertible {
  /// Creates the error, for tests of error handling.
  public init() {}

  public var description: String {
    "An executor dropped a job without running it. Keep the executor running until its futures have completed."
  }
}
