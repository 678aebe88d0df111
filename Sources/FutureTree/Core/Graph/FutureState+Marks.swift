// The rarely set properties of a `FutureState`.

extension FutureState {
  /// Properties that few futures have. Code outside `FutureState` uses the accessors below.
  struct Marks: OptionSet {
    let rawValue: UInt8
    static let isShared = Marks(rawValue: 1 << 0)
    static let isWatched = Marks(rawValue: 1 << 1)
    static let innerIsCleanUp = Marks(rawValue: 1 << 2)
    static let isAbandoned = Marks(rawValue: 1 << 3)
    static let isHeard = Marks(rawValue: 1 << 4)
    static let isInner = Marks(rawValue: 1 << 5)
    static let isObserved = Marks(rawValue: 1 << 6)
    static let isAwaited = Marks(rawValue: 1 << 7)

    subscript(mark: Marks) -> Bool {
      get { contains(mark) }
      set { if newValue { insert(mark) } else { remove(mark) } }
    }
  }

  /// Law 6 (shared futures): while other consumers have interest, every request is treated as under law 3 (stopping where
  /// others wait).
  var isShared: Bool {
    get { marks[.isShared] }
    set { marks[.isShared] = newValue }
  }

  /// Whether a monitor observes this future, or it lingers, or it is a pause. The common cases are for other futures. Does not
  /// change after the future has ended.
  var isWatched: Bool {
    get { marks[.isWatched] }
    set { marks[.isWatched] = newValue }
  }

  /// Whether a handler of this source has received a request.
  var isHeard: Bool {
    get { marks[.isHeard] }
    set { marks[.isHeard] = newValue }
  }

  /// Whether another future is or was linked to this one to take its outcome.
  var isInner: Bool {
    get { marks[.isInner] }
    set { marks[.isInner] = newValue }
  }

  /// Whether the storage for the first observer of this source was used. Does not change after the future has ended.
  var isObserved: Bool { marks[.isObserved] }

  /// Marks the storage for the first observer as used. Returns false, and does nothing, if a monitor observes this source or if
  /// the storage was used before.
  mutating func observesFirst() -> Bool {
    guard marks.isDisjoint(with: [.isWatched, .isObserved]) else { return false }
    marks.insert(.isObserved)
    return true
  }

  /// Whether an awaiting task used the storage for the first observer.
  var isAwaited: Bool { marks[.isAwaited] }

  /// Marks that storage as used by an awaiting task, and counts the task as a consumer. Returns false if that is not possible.
  mutating func awaitsFirst() -> Bool {
    guard !isAbandoned, observesFirst(), oneMoreConsumer() else { return false }
    marks.insert(.isAwaited)
    return true
  }

  /// Whether another future that begins to wait for this one needs no signal from it.
  var forwardsNothing: Bool {
    guard isPending, marks.isDisjoint(with: [.isAbandoned, .isWatched]), case .none = requests else { return false }
    return true
  }
}
