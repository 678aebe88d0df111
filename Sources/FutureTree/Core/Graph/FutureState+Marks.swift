// The marks of a `FutureState`.

extension FutureState {
  /// What most futures are not. Code outside `FutureState` uses the properties below.
  struct Marks: OptionSet {
    let rawValue: UInt8
    static let isShared = Marks(rawValue: 1 << 0)
    static let isMonitored = Marks(rawValue: 1 << 1)
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

  /// Law 6: while others wait, every request that reaches this future is treated as law 3.
  var isShared: Bool {
    get { marks[.isShared] }
    set { marks[.isShared] = newValue }
  }

  /// Whether a monitor observes it. That does not change once the future has ended.
  var isMonitored: Bool {
    get { marks[.isMonitored] }
    set { marks[.isMonitored] = newValue }
  }

  /// Whether a handler of this source has received a request.
  var isHeard: Bool {
    get { marks[.isHeard] }
    set { marks[.isHeard] = newValue }
  }

  /// Whether a future has been linked to this one: another takes its outcome from it.
  var isInner: Bool {
    get { marks[.isInner] }
    set { marks[.isInner] = newValue }
  }

  /// Whether the words for the first observer of this source were used. That does not change once the future has ended.
  var isObserved: Bool { marks[.isObserved] }

  /// A source gets its first observer. Returns false, and does nothing, if it may not.
  mutating func observesFirst() -> Bool {
    guard marks.isDisjoint(with: [.isMonitored, .isObserved]) else { return false }
    marks.insert(.isObserved)
    return true
  }

  /// Whether an awaiting task used them.
  var isAwaited: Bool { marks[.isAwaited] }

  /// The same for an awaiting task, which is a consumer.
  mutating func awaitsFirst() -> Bool {
    guard !isAbandoned, observesFirst(), oneMoreConsumer() else { return false }
    marks.insert(.isAwaited)
    return true
  }

  /// Whether there is nothing that a future for which this one begins to wait must learn.
  var forwardsNothing: Bool {
    guard isPending, marks.isDisjoint(with: [.isAbandoned, .isMonitored]), case .none = requests else { return false }
    return true
  }
}
