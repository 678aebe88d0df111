import Dispatch

/// The socket of one connection: does what the `Conversation` says, and tells it what happened.
///
/// # Invariants
/// 1. Everything here runs on the server's queue.
/// 2. The descriptor is touched only before `isClosed`: its number may belong to somebody else after that.
final class ServerChannel: @unchecked Sendable {  // Because: invariant 1.
  let id: Int
  private let descriptor: Int32
  private let engine: ServerEngine
  private var conversation = Conversation()
  private var events: ArraySlice<Conversation.Event> = []
  private var isHandling = false

  private var isReading = true
  private var timer: (any DispatchSourceTimer)?
  private var watch: (any DispatchSourceTimer)?
  private var heldAt: (gate: LoopbackGate, id: Int)?
  private var unsent: ArraySlice<UInt8> = []
  private var hasFinishedSending = false

  private var isClosed = false

  init(id: Int, descriptor: Int32, engine: ServerEngine) {
    self.id = id
    self.descriptor = descriptor
    self.engine = engine
  }

  func start(greeting: LoopbackAnswer?) {
    tellMe(when: .readable)
    handle(.accepted(greeting))
  }

  /// Takes an event. An event that comes while another is handled waits for its turn: no recursion.
  func handle(_ event: Conversation.Event) {
    events.append(event)
    guard !isHandling else { return }
    isHandling = true
    while let next = events.popFirst() {
      for action in conversation.handle(next) { perform(action) }
    }
    isHandling = false
  }

  private func perform(_ action: Conversation.Action) {
    guard !isClosed else { return }
    switch action {
    case .requestBegan(let request): engine.note(.requestBegan(request, connection: id))
    case .bodyArrived(let bytes): engine.note(.bodyArrived(bytes, connection: id))
    case .requestEnded(let progress, let trailers):
      engine.note(.requestEnded(progress, trailers: trailers, connection: id))
    case .choose(let sequence, let moment): handle(.chosen(engine.answer(sequence, of: id, at: moment)))
    case .write(let bytes):
      unsent = hasFinishedSending ? [] : bytes[...]
      write()
    case .startTimer(let duration): startTimer(duration)
    case .hold(let gate): hold(at: gate)
    case .setReading(let reads): setReading(reads)
    case .finishSending:
      hasFinishedSending = true
      Socket.finishSending(descriptor)
    case .end(let state, let abandoned, let resetting):
      engine.note(.connectionClosed(state, abandoned: abandoned, connection: id))
      close(resetting: resetting)
    }
  }
}

// MARK: - Reading and writing

extension ServerChannel {
  /// Asks to be told when the socket is ready. It is told once.
  private func tellMe(when readiness: Poller.Readiness) {
    engine.poller.watch(descriptor, for: readiness) { ready in
      self.engine.queue.async {
        if ready.contains(.readable) { self.receive() }
        if ready.contains(.writable) { self.roomCame() }
      }
    }
  }

  private func receive() {
    for _ in 0..<16 {
      guard !isClosed, isReading else { return }
      switch Socket.receive(from: descriptor) {
      case .bytes(let bytes): handle(.received(bytes))
      case .nothingYet: return tellMe(when: .readable)
      case .ended: return handle(.clientLeft)
      }
    }
    receiveLater()  // The others have waited long enough.
  }

  private func receiveLater() {
    engine.queue.async { self.receive() }
  }

  private func write() {
    while !unsent.isEmpty {
      guard let count = Socket.write(unsent, to: descriptor) else { return writeFailed() }
      guard count > 0 else { return tellMe(when: .writable) }
      unsent = unsent.dropFirst(count)
    }
    handle(.written)
  }

  private func writeFailed() {
    unsent = []
    handle(.clientLeft)
  }

  private func roomCame() {
    guard !isClosed, !unsent.isEmpty else { return }
    write()
  }

  private func setReading(_ reads: Bool) {
    guard reads != isReading, !isClosed else { return }
    isReading = reads
    if reads {
      watch?.cancel()
      watch = nil
      receiveLater()  // What was reported before reading stopped is not reported again.
    } else {
      watchWithoutReading()
    }
  }

  /// While nothing is read, a close is behind what was not read: only polling sees it.
  private func watchWithoutReading() {
    let source = DispatchSource.makeTimerSource(queue: engine.queue)
    source.schedule(deadline: .now(), repeating: .milliseconds(5), leeway: .milliseconds(1))
    watch = source
    activate(source) { channel in
      guard !channel.isClosed, !channel.isReading, Socket.peerHasLeft(channel.descriptor) else { return }
      channel.handle(.clientLeft)
    }
  }
}

// MARK: - Waiting

extension ServerChannel {
  private func startTimer(_ duration: Duration) {
    let source = DispatchSource.makeTimerSource(queue: engine.queue)
    source.schedule(deadline: .now() + duration.dispatchInterval, leeway: .nanoseconds(0))
    timer = source
    activate(source) { channel in
      channel.timer?.cancel()
      channel.timer = nil
      channel.handle(.timeElapsed)
    }
  }

  private func hold(at gate: LoopbackGate) {
    let pass: @Sendable () -> Void = { [weak self, queue = engine.queue] in
      queue.async { [weak self] in self?.gateOpened() }
    }
    if let id = gate.enter(pass) { heldAt = (gate, id) }
  }

  private func gateOpened() {
    heldAt = nil
    handle(.gateOpened)
  }
}

// MARK: - The end

extension ServerChannel {
  private func close(resetting: Bool) {
    guard !isClosed else { return }
    isClosed = true
    unsent = []
    if let heldAt { heldAt.gate.leave(heldAt.id) }
    heldAt = nil
    if resetting {
      Socket.resetOnClose(descriptor)
    } else {
      Socket.finishSending(descriptor)
      Socket.drain(descriptor)
    }
    timer?.cancel()
    watch?.cancel()
    (timer, watch) = (nil, nil)
    engine.poller.forget(descriptor)
    Socket.closeDescriptor(descriptor)
    engine.channelClosed(id)
  }

  /// Starts a timer.
  private func activate(_ timer: any DispatchSourceTimer, _ body: @escaping @Sendable (ServerChannel) -> Void) {
    timer.setEventHandler { body(self) }
    timer.activate()
  }
}

extension Duration {
  /// The duration in whole nanoseconds, at most some hundred years.
  var dispatchInterval: DispatchTimeInterval {
    let (seconds, attoseconds) = components
    let nanoseconds = min(max(0, seconds), 3_000_000_000) * 1_000_000_000 + max(0, attoseconds / 1_000_000_000)
    return Int(exactly: nanoseconds).map { .nanoseconds($0) } ?? .seconds(Int(clamping: seconds))
  }
}
