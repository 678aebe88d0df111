import Dispatch
import FutureTree

/// One connection of a server. Everything happens on the server's queue.
final class ServerConnection: @unchecked Sendable {  // Because: confined to the server's queue.
  private let id: Int
  private let descriptor: Int32
  private unowned let server: LoopbackServer.Engine
  private let queue: DispatchQueue
  private let reading: any DispatchSourceRead
  private var writing: (any DispatchSourceWrite)?
  private var parser = RequestParser()

  /// The answer under way: the path it answers, and the steps left.
  private var answering: (path: String, steps: ArraySlice<LoopbackStep>, closes: Bool)?
  private var unsent: [UInt8] = []
  private var isOpen = true
  /// Whether `reading` runs; a suspended source must not be freed.
  private var isReading = true

  init(id: Int, descriptor: Int32, server: LoopbackServer.Engine, queue: DispatchQueue) {
    self.id = id
    self.descriptor = descriptor
    self.server = server
    self.queue = queue
    reading = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    reading.setEventHandler { [weak self] in self?.read() }
    reading.setCancelHandler { [descriptor] in Socket.closeDescriptor(descriptor) }
    reading.activate()
  }

  /// Ends the connection, and says how in the record.
  func close(_ state: LoopbackConnection.State) {
    guard isOpen else { return }
    isOpen = false
    answering = nil
    if !isReading { reading.resume() }
    writing?.cancel()
    writing = nil
    reading.cancel()
    server.connectionClosed(id, state)
  }

  private func read() {
    while isOpen, isReading {
      switch Socket.read(descriptor) {
      case .bytes(let bytes):
        parser.feed(bytes)
        answerNext()
      case .nothingYet: return
      case .ended: return close(.closedByClient(while: answering?.path))
      }
    }
  }

  private func answerNext() {
    while isOpen, answering == nil, let event = parser.next() {
      switch event {
      case .expectsContinue:
        send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
      case .refused(let fault):
        return close(.refused(fault))
      case .request(let message):
        let request = LoopbackRequest(
          connection: id, method: message.method, target: message.target, headers: message.headers, body: message.body)
        let closes = request.values(for: "connection").contains { $0.lowercased() == "close" }
        answering = (request.path, [], closes)
        let steps = server.requestArrived(request)
        guard isOpen else { return }
        answering?.steps = steps[...]
        goOn()
      }
    }
  }

  /// Takes the steps that can be taken now.
  private func goOn() {
    while isOpen, unsent.isEmpty, let answer = answering {
      guard let step = answer.steps.first else {
        answering = nil
        if answer.closes { close(.closedByServer) } else { answerNext() }
        return
      }
      answering?.steps = answer.steps.dropFirst()
      switch step.kind {
      case .send(let bytes): send(bytes)
      case .pause(let duration): return waitFor(duration)
      case .hold(let gate): return waitFor(gate)
      case .stall: return
      case .stopReading: stopReading()
      case .close: return close(.closedByServer)
      case .reset:
        Socket.resetOnClose(descriptor)
        return close(.closedByServer)
      }
    }
  }

  private func waitFor(_ duration: Duration) {
    let nanoseconds = Int(duration / .nanoseconds(1))
    queue.asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [weak self] in self?.goOn() }
  }

  private func waitFor(_ gate: LoopbackGate) {
    gate.whenOpen { [queue, weak self] in
      queue.async { [weak self] in self?.goOn() }
    }
  }

  private func stopReading() {
    guard isReading else { return }
    isReading = false
    reading.suspend()
  }

  private func send(_ bytes: [UInt8]) {
    unsent += bytes
    flush()
  }

  private func flush() {
    var rest = unsent[...]
    while !rest.isEmpty {
      guard let count = Socket.write(rest, to: descriptor) else {
        return close(.closedByClient(while: answering?.path))
      }
      guard count > 0 else { break }
      rest = rest.dropFirst(count)
    }
    unsent = Array(rest)
    if unsent.isEmpty {
      writing?.cancel()
      writing = nil
    } else if writing == nil {
      let source = DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
      source.setEventHandler { [weak self] in
        self?.flush()
        self?.goOn()
      }
      writing = source
      source.activate()
    }
  }
}
