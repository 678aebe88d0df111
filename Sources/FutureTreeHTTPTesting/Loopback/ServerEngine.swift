import Dispatch
import FutureTree

/// The engine of a `LoopbackServer`: one serial queue, the listener, the connections, the record and the waits.
///
/// # Invariants
/// 1. `channels`, `waits` and `isStopped` are used only on `queue`. Only code on `queue` changes the record.
/// 2. `record` and `routes` are read from any thread, each under its own lock. The two locks are never held together, and no
///    user closure runs under a lock.
/// 3. Waits complete on a queue that the engine does not use: a consumer that blocks does not stop the server.
final class ServerEngine: @unchecked Sendable {  // Because: invariants 1 and 2.
  let queue = DispatchQueue(label: "FutureTreeHTTPTesting.LoopbackServer")
  let record = Locked(LoopbackRecord())
  let routes = Locked(LoopbackRoutes())

  let poller: Poller
  private let listener: Int32
  private let isOnQueue = DispatchSpecificKey<Bool>()
  /// Entered once for each open socket, and once for the poller.
  private let descriptors = DispatchGroup()
  private var channels: [Int: ServerChannel] = [:]
  private var waits: [ServerWait] = []
  private var isStopped = false

  init(listener: Int32, poller: Poller) {
    self.listener = listener
    self.poller = poller
    queue.setSpecific(key: isOnQueue, value: true)
  }

  func start() {
    descriptors.enter()
    descriptors.enter()
    poller.start { [descriptors] in descriptors.leave() }
    awaitConnections()
  }

  /// Closes everything and returns when all descriptors are closed. On `queue` it cannot wait, so it returns earlier.
  func stop() {
    if DispatchQueue.getSpecific(key: isOnQueue) == true {
      queue.async { self.shutDown() }
    } else {
      queue.sync { shutDown() }
      descriptors.wait()
    }
  }

  private func shutDown() {
    guard !isStopped else { return }
    isStopped = true
    poller.forget(listener)
    Socket.closeDescriptor(listener)
    descriptors.leave()
    for channel in channels.values.sorted(by: { $0.id < $1.id }) { channel.handle(.serverStopped) }
    let unfulfilled = waits
    waits = []
    for wait in unfulfilled { wait.fail(.stopped, record: record.withLock { $0 }) }
    let released = routes.withLock { $0.removeAll() }
    _ = released  // User closures are released outside the lock.
    poller.stop()
  }
}

// MARK: - Connections

extension ServerEngine {
  private func awaitConnections() {
    poller.watch(listener, for: .readable) { _ in self.queue.async { self.acceptConnections() } }
  }

  private func acceptConnections() {
    while !isStopped {
      switch Socket.acceptConnection(on: listener) {
      case .connection(let descriptor): open(descriptor)
      case .noneWaits: return awaitConnections()
      case .exhausted: return acceptLater()
      }
    }
  }

  /// Pauses accepting until descriptors may be free again: the listener would report readiness continuously.
  private func acceptLater() {
    // A timer is not possible: on Linux the first timer of a process needs a descriptor, and Dispatch traps if there is none.
    DispatchQueue(label: "FutureTreeHTTPTesting.LoopbackServer.nap").async {
      Socket.nap()
      self.queue.async { self.acceptConnections() }
    }
  }

  private func open(_ descriptor: Int32) {
    descriptors.enter()
    note(.connectionOpened)
    let id = record.withLock { $0.connections.count }
    let channel = ServerChannel(id: id, descriptor: descriptor, engine: self)
    channels[id] = channel
    channel.start(greeting: routes.withLock { $0.greet() })
  }

  /// Records that the descriptor of a channel is closed.
  func channelClosed(_ id: Int) {
    channels[id] = nil
    descriptors.leave()
  }

  /// Chooses the answer to a request, or returns `nil` if no answer begins at this moment.
  func answer(_ sequence: Int, of connection: Int, at moment: LoopbackMoment) -> LoopbackAnswer? {
    let request = record.withLock { $0.request(sequence, of: connection) }
    let choice = routes.withLock {
      $0.choose(
        method: request.method, target: request.target, path: request.path, host: request.host, at: moment)
    }
    switch choice {
    case .answer(let answer): return answer
    case .ask(let handler): return handler(request)
    case .later: return nil
    }
  }
}

// MARK: - The record and its waits

extension ServerEngine {
  /// Applies a change to the record, and completes the waits whose condition now holds.
  func note(_ change: LoopbackChange) {
    let snapshot = record.withLock { record -> LoopbackRecord? in
      record.apply(change)
      return waits.isEmpty ? nil : record
    }
    guard let snapshot else { return }
    waits.removeAll { $0.isFulfilled(by: snapshot) }
  }

  func add(_ wait: ServerWait, within limit: Duration) {
    queue.async {
      let snapshot = self.record.withLock { $0 }
      guard !wait.isFulfilled(by: snapshot) else { return }
      guard !self.isStopped else { return wait.fail(.stopped, record: snapshot) }
      self.waits.append(wait)
      wait.startTimer(limit, on: self.queue) { [weak self] in self?.expire(wait, after: limit) }
    }
  }

  /// Removes a wait whose future was cancelled.
  func remove(_ wait: ServerWait) {
    queue.async {
      wait.end()
      self.waits.removeAll { $0 === wait }
    }
  }

  private func expire(_ wait: ServerWait, after limit: Duration) {
    waits.removeAll { $0 === wait }
    wait.fail(.timedOut(after: limit), record: record.withLock { $0 })
  }
}

/// A wait for a condition on the record. Used only on the server's queue.
final class ServerWait: @unchecked Sendable {  // Because: `timer` and `promise` are used only on the server's queue.
  private let condition: @Sendable (LoopbackRecord) -> Bool
  private let place: String
  /// `nil` once the wait has ended.
  private var promise: Promise<LoopbackRecord>?
  private var timer: (any DispatchSourceTimer)?

  init(_ promise: Promise<LoopbackRecord>, place: String, condition: @escaping @Sendable (LoopbackRecord) -> Bool) {
    self.promise = promise
    self.place = place
    self.condition = condition
  }

  /// Completes the promise if the condition holds.
  func isFulfilled(by record: LoopbackRecord) -> Bool {
    guard promise != nil else { return true }
    guard condition(record) else { return false }
    finish { $0.succeed(record) }
    return true
  }

  func fail(_ cause: LoopbackWaitError.Cause, record: LoopbackRecord) {
    let error = LoopbackWaitError(cause: cause, record: record, place: place)
    finish { $0.fail(error) }
  }

  func startTimer(_ limit: Duration, on queue: DispatchQueue, _ elapsed: @escaping @Sendable () -> Void) {
    let source = DispatchSource.makeTimerSource(queue: queue)
    source.schedule(deadline: .now() + limit.dispatchInterval)
    source.setEventHandler { elapsed() }
    timer = source
    source.activate()
  }

  func end() {
    timer?.cancel()
    timer = nil
    promise = nil
  }

  /// Completes the promise on a separate queue, which gets a thread even if all others block: consumers may block too.
  private func finish(_ complete: @escaping @Sendable (Promise<LoopbackRecord>) -> Void) {
    guard let promise else { return }
    end()
    DispatchQueue(label: "FutureTreeHTTPTesting.LoopbackServer.wait").async { complete(promise) }
  }
}

/// The error of a wait such as `LoopbackServer.waitUntil`: its time limit passed, or the server stopped. It carries the record.
public struct LoopbackWaitError: Error, CustomStringConvertible {
  enum Cause: Sendable {
    case stopped
    case timedOut(after: Duration)
  }

  let cause: Cause

  /// The record at the end of the wait.
  public let record: LoopbackRecord

  let place: String

  /// Whether the time limit passed. If not, the server was stopped.
  public var isTimeout: Bool {
    if case .timedOut = cause { true } else { false }
  }

  public var description: String {
    let ending =
      switch cause {
      case .stopped: "the server stopped before the event"
      case .timedOut(let limit): "the event did not occur within \(limit.rounded)"
      }
    let seen = record.connections.isEmpty ? "The server accepted no connection." : "The server received:\n\(record)"
    return "Waiting for a LoopbackServer at \(place): \(ending). \(seen)"
  }
}
