import Dispatch

/// The socket of one connection: does what the `Conversation` says, and tells it what happened.
///
/// # Invariants
/// 1. Everything here runs on the server's queue.
/// 2. The descriptor is closed when the last source on it has been cancelled: a source must not watch a descriptor whose
///    number the system gave to somebody else.
/// 3. A source that is suspended is resumed before it is cancelled; Dispatch traps otherwise.
final class ServerChannel: @unchecked Sendable {  // Because: invariant 1.
  let id: Int
  private let descriptor: Int32
  private let engine: ServerEngine
  private var conversation = Conversation()
  private var events: ArraySlice<Conversation.Event> = []
  private var isHandling = false

  private let reader: any DispatchSourceRead
  private var isReading = true
  private var writer: (any DispatchSourceWrite)?
  private var timer: (any DispatchSourceTimer)?
  private var watch: (any DispatchSourceTimer)?
  private var heldAt: (gate: LoopbackGate, id: Int)?
  private var unsent: ArraySlice<UInt8> = []
  private var hasFinishedSending = false

  private var isClosed = false
  private var sourceCount = 0

  init(id: Int, descriptor: Int32, engine: ServerEngine) {
    self.id = id
    self.descriptor = descriptor
    self.engine = engine
    reader = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: engine.queue)
  }

  func start(greeting: LoopbackAnswer?) {
    activate(reader) { $0.receive() }
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
  /// Reads until nothing is there: Dispatch on Linux reports a connection that was reset once, whatever is left to read.
  private func receive() {
    for _ in 0..<16 {
      guard !isClosed, isReading else { return }
      switch Socket.receive(from: descriptor) {
      case .bytes(let bytes): handle(.received(bytes))
      case .nothingYet: return
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
      guard count > 0 else { return awaitRoom() }
      unsent = unsent.dropFirst(count)
    }
    writer?.cancel()
    writer = nil
    handle(.written)
  }

  private func writeFailed() {
    unsent = []
    writer?.cancel()
    writer = nil
    handle(.clientLeft)
  }

  private func awaitRoom() {
    guard writer == nil else { return }
    let source = DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: engine.queue)
    writer = source
    activate(source) { $0.roomCame() }
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
      reader.resume()
      receiveLater()  // What was reported before reading stopped is not reported again.
    } else {
      reader.suspend()
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
    if !isReading { reader.resume() }
    reader.cancel()
    writer?.cancel()
    timer?.cancel()
    watch?.cancel()
    (writer, timer, watch) = (nil, nil, nil)
  }

  /// Starts a source; the descriptor outlives it.
  private func activate(_ source: any DispatchSourceProtocol, _ body: @escaping @Sendable (ServerChannel) -> Void) {
    sourceCount += 1
    source.setEventHandler { body(self) }
    source.setCancelHandler { self.sourceEnded() }
    source.activate()
  }

  private func sourceEnded() {
    sourceCount -= 1
    guard isClosed, sourceCount == 0 else { return }
    Socket.closeDescriptor(descriptor)
    engine.channelClosed(id)
  }
}

extension Duration {
  /// The duration in whole nanoseconds, at most some hundred years.
  var dispatchInterval: DispatchTimeInterval {
    let (seconds, attoseconds) = components
    guard seconds < 3_000_000_000 else { return .seconds(3_000_000_000) }
    return .nanoseconds(Int(max(0, seconds)) * 1_000_000_000 + Int(max(0, attoseconds / 1_000_000_000)))
  }
}
