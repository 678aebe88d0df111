import FutureTree

/// The callers of one shared load. It relays progress to them, and has the highest of their priorities.
struct FlightCallers: Sendable {
  typealias Handler = @Sendable (HTTPProgress) -> Void

  /// A caller that receives progress.
  private struct Listener {
    let handler: Handler
    /// The future of the caller. `nil` until it has been created.
    var future: Future<HTTPResponse>?
  }

  private struct State {
    var lastID = 0
    var listeners: [Int: Listener] = [:]
    /// The number of live callers by the level of their priority.
    var levels = SIMD8<Int32>()
    /// The priority of the load. The last caller that leaves does not change it.
    var priority: RequestPriority
    /// The first caller, while it is the only one. Its end matters only to others, so it is not observed.
    var only: (priority: RequestPriority, future: Future<HTTPResponse>)?
    var isShared = false
    /// The queued requests of the load: one, except for a load that sends several requests at once.
    var queued: QueuedRequest?
    var moreQueued: [QueuedRequest] = []

    /// Counts a caller that leaves a level, and a caller that joins a level. Returns the queued requests if the priority has
    /// changed.
    mutating func count(leaving: RequestPriority? = nil, joining: RequestPriority? = nil) -> [QueuedRequest] {
      if let leaving { levels[leaving.level] -= 1 }
      if let joining { levels[joining.level] += 1 }
      guard let highest = (0..<RequestPriority.levelCount).last(where: { levels[$0] > 0 }), highest != priority.level
      else { return [] }
      priority = RequestPriority(level: highest)
      return (queued.map { [$0] } ?? []) + moreQueued
    }

    mutating func nextID() -> Int {
      lastID += 1
      return lastID
    }
  }

  private let state: Locked<State>

  /// - Parameter priority: The priority of the first caller, which is counted.
  init(first priority: RequestPriority) {
    var state = State(priority: priority)
    state.levels[priority.level] = 1
    self.state = Locked(state)
  }

  private init(state: Locked<State>) { self.state = state }

  /// - Parameter load: The `load` of other callers.
  init(load: AnyObject) { state = unsafeDowncast(load, to: Locked<State>.self) }

  /// The identity of the shared load.
  var load: AnyObject { state }
}

// MARK: - Progress

extension FlightCallers {
  /// Adds a handler that receives all later reports. Returns its number.
  func add(_ handler: @escaping Handler) -> Int {
    state.withLock { state in
      let id = state.nextID()
      state.listeners[id] = Listener(handler: handler)
      return id
    }
  }

  /// Delivers reports to the handler with this number until the future has completed.
  func follow(_ id: Int, _ future: Future<HTTPResponse>) {
    state.withLock { $0.listeners[id]?.future = future }
    future.observe { [weak state] _ in
      state?.release { $0.listeners.removeValue(forKey: id) }
    }
  }

  /// Delivers a report. The transport makes one call at a time.
  func tell(_ progress: HTTPProgress) {
    let all = state.withLock { $0.listeners.sorted { $0.key < $1.key }.map(\.value) }
    for caller in all where caller.future?.isCompleted != true { caller.handler(progress) }
  }
}

// MARK: - Priority

extension FlightCallers {
  /// The highest priority of the live callers.
  var priority: RequestPriority { state.withLock { $0.priority } }

  /// The number of queued requests.
  var queuedCount: Int { state.withLock { ($0.queued == nil ? 0 : 1) + $0.moreQueued.count } }

  /// Changes the priority of a caller.
  func change(_ priority: RequestPriority, to next: RequestPriority) {
    notify(state.withLock { $0.count(leaving: priority, joining: next) })
  }

  /// Counts a new caller.
  func join(_ priority: RequestPriority) {
    notify(state.withLock { $0.count(joining: priority) })
  }

  /// Counts a caller until its future has completed.
  ///
  /// - Parameter isFirst: Whether the caller began the load.
  func follow(_ priority: RequestPriority, _ future: Future<HTTPResponse>, isFirst: Bool) {
    let followed = state.withLock { state -> [(priority: RequestPriority, future: Future<HTTPResponse>)] in
      if isFirst, !state.isShared {
        state.only = (priority, future)
        return []
      }
      state.isShared = true
      return [state.only.take(), (priority, future)].compactMap { $0 }
    }
    for caller in followed {
      caller.future.observe { [state] _ in
        FlightCallers(state: state).notify(state.withLock { $0.count(leaving: caller.priority) })
      }
    }
  }

  /// Adds a queued request, whose priority is changed with that of the load.
  ///
  /// - Parameter priority: The priority with which the request was queued.
  func add(_ request: QueuedRequest, queuedAs priority: RequestPriority) {
    let current = state.withLock { state in
      if state.queued == nil { state.queued = request } else { state.moreQueued.append(request) }
      return state.priority
    }
    if current != priority { notify([request]) }
  }

  func remove(_ request: QueuedRequest) {
    state.release { state -> QueuedRequest? in
      if let queued = state.queued, queued == request { return state.queued.take() }
      return state.moreQueued.firstIndex(of: request).map { state.moreQueued.remove(at: $0) }
    }
  }

  /// Reports the priority, and again if another thread has changed it in between: that thread may have reported before.
  private func notify(_ requests: [QueuedRequest]) {
    guard !requests.isEmpty else { return }
    var reported: RequestPriority
    repeat {
      reported = priority
      for request in requests { request.queue.changed(request.place, to: reported) }
    } while reported != priority
  }
}

/// A queue of requests whose order depends on their priorities.
protocol PriorityQueue: AnyObject, Sendable {
  /// Changes the priority of a request, if it is queued.
  func changed(_ place: AnyObject, to priority: RequestPriority)
}

/// The place of a request in a queue.
struct QueuedRequest: Equatable {
  let queue: any PriorityQueue
  let place: AnyObject

  static func == (left: QueuedRequest, right: QueuedRequest) -> Bool {
    left.queue === right.queue && left.place === right.place
  }
}

extension HTTPRequest {
  /// Returns the request with the priority of a flight, which a queued load follows when it changes.
  ///
  /// ```swift
  /// let icon = icons.load(url, priority: .high) { priority in api.load(iconRequest.following(priority)) }
  /// ```
  ///
  /// `TaskPriority.background` is `RequestPriority.lowest`, `low` is `low`, `medium` is `normal`, `high` is `high`, and greater
  /// values are `highest`.
  public func following(_ priority: FlightPriority) -> HTTPRequest {
    let first = RequestPriority(priority.current)
    let (callers, last) = (FlightCallers(first: first), Locked(first))
    priority.onChange { changed in
      let next = RequestPriority(changed)
      let previous = last.withLock { last in
        defer { last = next }
        return last
      }
      callers.change(previous, to: next)
    }
    var request = self
    request.priority = first
    request.sharedCallers = callers
    return request
  }

  /// The callers of the shared load to which the request belongs.
  var sharedCallers: FlightCallers? {
    get { sharedLoad.map { FlightCallers(load: $0) } }
    set { sharedLoad = newValue?.load }
  }

  /// The priority now: the highest priority of the live callers, if the load is shared.
  var currentPriority: RequestPriority { sharedCallers?.priority ?? self.priority }
}

extension RequestPriority {
  fileprivate init(_ priority: TaskPriority) {
    self =
      switch priority {
      case ...TaskPriority.background: .lowest
      case ...TaskPriority.low: .low
      case ...TaskPriority.medium: .normal
      case ...TaskPriority.high: .high
      default: .highest
      }
  }
}
