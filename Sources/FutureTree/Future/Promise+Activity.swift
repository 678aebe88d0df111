extension Promise {
  /// Describes what the work of this promise is doing, for trees, logs and the receipts of cancellation requests.
  ///
  /// ```swift
  /// let promise = Promise<Data>()
  /// promise.describeActivity(of: receiver) { "receiving, \($0.count) bytes until now" }
  /// print(promise.future.tree())  // promise  pending, receiving, 12 bytes until now
  /// print(promise.future.cancel())  // delivered to 1 handler, reached 1 future, met while receiving, …
  /// ```
  ///
  /// The closure is called when a tree is drawn, when `activityChanged()` reports to a log, and when a handler of this promise is
  /// about to receive a request. At other times, the description costs nothing. The closure is not called after the
  /// promise was completed or sealed. A second call of this method replaces the first.
  ///
  /// A text begins with a verb, without a capital letter, as it continues a line. It must not have secrets.
  ///
  /// - Parameters:
  ///   - worker: The object that does the work. It is not retained. After its end, there is no description.
  ///   - describe: Returns the description, or `nil` if there is none. It is called on any thread, outside every lock, and must
  ///     not wait. Let it capture nothing: the future retains it.
  /// - Complexity: O(1), with one allocation.
  public func describeActivity<Worker: AnyObject & Sendable>(
    of worker: Worker, _ describe: @escaping @Sendable (Worker) -> String?
  ) {
    source.setActivity(.described { [weak worker] in worker.flatMap(describe) })
  }

  /// Reports a new activity to the log of the future, if it is in one.
  ///
  /// ```swift
  /// promise.activityChanged()  // 0.001000 s  7 GET /users  connecting
  /// ```
  ///
  /// Call it when the work begins something else, and not for each byte. Trees and receipts do not need it.
  ///
  /// - Complexity: O(1), a few instructions for a future without a log.
  public func activityChanged() {
    source.reportActivity()
  }
}
