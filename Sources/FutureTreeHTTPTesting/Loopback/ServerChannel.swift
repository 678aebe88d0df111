import Dispatch

/// The socket of one connection. It performs the actions of its `Conversation`, and passes events to it.
///
/// # Invariants
/// 1. All methods run on the server's queue.
/// 2. The descriptor is used only while `isClosed` is false. Afterward its number may belong to another socket.
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

  /// Handles an event. An event that arrives while another one is handled waits in `events`, so there is no recursion.
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
  /// Watches the socket for one readiness event.
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
    receiveLater()  // Other connections use the queue first.
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
      receiveLater()  // Readiness that was reported before reading stopped is not reported again.
    } else {
      watchWithoutReading()
    }
  }

  /// Polls for a close while reading is stopped: a close is queued behind unread bytes, so only polling detects it.
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

  /// Activates a timer that retains this channel until it is cancelled.
  private func activate(_ timer: any DispatchSourceTimer, _ body: @escaping @Sendable (ServerChannel) -> Void) {
    timer.setEventHandler { body(self) }
    timer.activate()
  }
}

extension Duration {
  /// The duration in whole nanoseconds, limited to about a hundred years.
  var dispatchInterval: DispatchTimeInterval {
    let (seconds, attoseconds) = components
    let nanoseconds = min(max(0, seconds), 3_000_000_000) * 1_000_000_000 + max(0, attoseconds / 1_000_000_000)
    return Int(exactly: nanoseconds).map { .nanoseconds($0) } ?? .seconds(Int(clamping: seconds))
  }
}
