/// What the work of a promise is doing.
enum Activity: Sendable {
  /// The same at any time. The text exists already.
  case fixed(ActivityText)
  /// User code, which is called outside every lock.
  case described(@Sendable () -> String?)

  var current: ActivityText? {
    switch self {
    case .fixed(let text): return text
    case .described(let describe):
      LockRule.assertNoLockIsHeld()
      return describe().map { ActivityText($0) }
    }
  }
}

extension Node {
  /// The activity of a promise that is neither completed nor sealed. Called under the lock.
  final var activity: Activity? { state.phase == .waiting && state.createdBy.isSource ? details?.activity : nil }
}

extension Source {
  /// What the work is doing whose handlers are about to receive a request. `nil` without a handler.
  @inline(never) var activityMet: ActivityText? {
    lock.withLock { handlerCount == 0 ? nil : activity }?.current
  }

  func setActivity(_ activity: Activity) {
    let previous = lock.withLock {
      let previous = details
      details = Details(replacing: previous, activity: activity)
      return previous
    }
    _ = previous  // Released here, outside the lock.
  }

  /// Reports the activity to the log, if there is one.
  func reportActivity() {
    guard let activity = lock.withLock({ state.isRare && details?.monitor != nil ? activity : nil })?.current else {
      return
    }
    reportNow(.does(activity.text))
  }
}
