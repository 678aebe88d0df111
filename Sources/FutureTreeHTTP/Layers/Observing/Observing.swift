/// A task-local mark that prevents an observer of loads from observing its own loads, which would never end.
///
/// This covers loads in the call of the observer and in tasks that it starts there. Work that the observer passes to a
/// queue or to a future cannot be recognized as its own.
enum Observing {
  /// Whether the current code is called by an observer.
  @TaskLocal static var isUnderWay = false

  /// Calls an observer.
  static func call(_ observer: () -> Void) {
    $isUnderWay.withValue(true) { observer() }
  }
}
