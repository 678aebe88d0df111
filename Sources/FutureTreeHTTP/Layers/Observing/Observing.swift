/// Keeps an observer of loads from observing what it loads itself, which would never end.
///
/// It holds for what the observer does in its call and in tasks that it starts there. What it hands to a queue or to a future
/// is not known to be its own.
enum Observing {
  /// Whether this is done by an observer.
  @TaskLocal static var isUnderWay = false

  /// Calls an observer.
  static func call(_ observer: () -> Void) {
    $isUnderWay.withValue(true) { observer() }
  }
}
