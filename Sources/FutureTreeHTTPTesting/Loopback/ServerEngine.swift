import Dispatch
import FutureTree

/// What runs behind a `LoopbackServer`: one serial queue, the listener, the connections, the record and the waits.
///
/// # Invariants
/// 1. `channels`, `waits` and `isStopped` are touched on `queue` only; the record is changed there only.
/// 2. `record` and `routes` are read from any thread, each under its own lock. Neither is held while the other is taken,
///    and no closure of a user runs under one.
/// 3. What a wait completes runs on no queue of ours: a consumer that blocks does not stop the server.
final class ServerEngine: @unchecked Sendable {  // Because: invariants 1 and 2.
  let queue = DispatchQueue(label: "FutureTreeHTTPTesting.LoopbackServer")
  let record = Locked(LoopbackRecord())
  let routes = Locked(LoopbackRoutes())

  let poller: Poller
  private let listener: Int32
  private let isOnQueue = DispatchSpecificKey<Bool>()
  /// Entered once for each socket that is open, and for the poller.
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

  /// Closes everything, and returns when it is closed; on the queue itself, where it cannot wait: before.
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
    _ = released  // Its closures are released unlocked.
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

  /// The listener would be ready again and again, so it rests until something may have been freed.
  private func acceptLater() {
    // No timer: the first one of a process takes a descriptor on Linux, and Dispatch traps if there is none.
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

  /// The descriptor of a channel was closed.
  func channelClosed(_ id: Int) {
    channels[id] = nil
    descriptors.leave()
  }

  /// Chooses the answer to a request; nil: not at this moment.
  func answer(_ sequence: Int, of connection: Int, at moment: LoopbackMoment) -> LoopbackAnswer? {
    let request = record.withLock { $0.request(sequence, of: connection) }
    let choice = routes.withLock {
      $0.choose(method: request.method, target: request.target, path: request.path, at: moment)
    }
    switch choice {
    case .answer(let answer): return answer
    case .ask(let handler): return handler(request)
    case .later: return nil
    }
  }
}

// MARK: - The record and who waits for it

extension ServerEngine {
  /// Writes into the record, and completes the waits that it fulfils.
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

  /// Forgets a wait that nobody wants any more.
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
