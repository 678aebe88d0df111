/// The state machine of one connection of a loopback server: events go in, actions come out.
///
/// Pure: takes no lock, calls no closure, reads no clock, knows no socket.
///
/// # Invariants
/// 1. Requests are answered one after the other, in the order in which they arrived.
/// 2. At most one of `write`, `startTimer`, `hold` and `choose` is in flight. The machine waits for the event that ends it.
/// 3. No action follows `end`.
struct Conversation {
  enum Event {
    /// The connection was accepted. The answer is sent before any request is answered.
    case accepted(LoopbackAnswer?)
    case received([UInt8])
    case clientLeft
    /// The result of `choose`. `nil`: an answer is chosen when the body is complete.
    case chosen(LoopbackAnswer?)
    /// The system took all bytes of `write`.
    case written
    case timeElapsed
    case gateOpened
    case serverStopped
  }

  enum Action {
    case requestBegan(LoopbackRequest)
    case bodyArrived(ArraySlice<UInt8>)
    case requestEnded(LoopbackRequest.Progress, trailers: [LoopbackRequest.Field])
    /// Find the answer to the request with this number.
    case choose(sequence: Int, LoopbackMoment)
    case write([UInt8])
    case startTimer(Duration)
    case hold(LoopbackGate)
    case setReading(Bool)
    case finishSending
    case end(LoopbackConnection.State, abandoned: String?, resetting: Bool)
  }

  private enum Awaited {
    case nothing
    case chosen
    case written
    case timeElapsed
    case gateOpened
    /// This number of bytes, or the end of the request.
    case bytes(Int)
    /// Only the end of the connection ends this wait.
    case end
  }

  /// A request that is not answered yet.
  private struct Turn {
    let sequence: Int
    let method: String
    let target: String
    let expectsContinue: Bool
    var closesAfter: Bool
    var isComplete = false
    var isMalformed = false
    var wasOffered = false

    var path: String { String(target.prefix { $0 != "?" }) }
  }

  private enum Work {
    case step(LoopbackStep)
    case drip([UInt8], from: Int, chunk: Int, every: Duration)
  }

  private var parser = RequestParser()
  private var turns: ArraySlice<Turn> = []
  private var lastSequence = 0
  private var awaited = Awaited.nothing
  /// The remaining steps of the current answer, the next step last.
  private var work: [Work] = []
  private var isAnswering = false
  /// Whether the response before has no body, so that the parts of its body are not sent.
  private var omitsBody = false
  private var isReading = true
  private var hasEnded = false

  /// Handles an event and returns the actions to perform.
  mutating func handle(_ event: Event) -> [Action] {
    guard !hasEnded else { return [] }
    var actions: [Action] = []
    switch (event, awaited) {
    case (.accepted(let greeting), _):
      begin(greeting)
    case (.received(let bytes), _):
      read(bytes, &actions)
      count(bytes.count, &actions)
    case (.clientLeft, _):
      clientLeft(&actions)
    case (.serverStopped, _):
      end(.closedByServer, &actions)
    case (.chosen(let answer?), .chosen):
      awaited = .nothing
      isAnswering = true
      begin(answer)
    case (.chosen(nil), .chosen):
      awaited = .nothing
      invite(&actions)
    case (.written, .written), (.timeElapsed, .timeElapsed), (.gateOpened, .gateOpened):
      awaited = .nothing
    case (.chosen, _), (.written, _), (.timeElapsed, _), (.gateOpened, _):
      return []  // Late: its action was abandoned.
    }
    advance(&actions)
    return actions
  }
}

// MARK: - Input

extension Conversation {
  private mutating func read(_ bytes: [UInt8], _ actions: inout [Action]) {
    for event in parser.receive(bytes) {
      switch event {
      case .head(let head):
        addTurn(method: head.method, target: head.target, head.expectsContinue, closesAfter: head.wantsClose)
        var request = LoopbackRequest()
        (request.method, request.target, request.headers) = (head.method, head.target, head.headers)
        request.head = head.bytes
        actions.append(.requestBegan(request))
      case .body(let part):
        actions.append(.bodyArrived(part))
      case .end(let trailers):
        turns[turns.endIndex - 1].isComplete = true
        actions.append(.requestEnded(.complete, trailers: trailers))
      case .malformed(let malformed, let bytes):
        refuse(malformed, bytes, &actions)
      }
    }
  }

  /// Ends the step `read` when enough bytes have arrived.
  private mutating func count(_ count: Int, _ actions: inout [Action]) {
    guard case .bytes(let left) = awaited else { return }
    let isComplete = turns.first?.isComplete ?? true
    awaited = isComplete || count >= left ? .nothing : .bytes(left - count)
    if !isComplete, count >= left { setReading(false, &actions) }
  }

  private mutating func addTurn(method: String, target: String, _ expectsContinue: Bool = false, closesAfter: Bool) {
    lastSequence += 1
    turns.append(
      Turn(
        sequence: lastSequence, method: method, target: target, expectsContinue: expectsContinue,
        closesAfter: closesAfter))
  }

  private mutating func refuse(
    _ malformed: RequestHead.Malformed, _ bytes: [UInt8], _ actions: inout [Action]
  ) {
    if turns.last?.isComplete ?? true {  // Between requests: the bytes count as a separate request.
      addTurn(method: malformed.method, target: malformed.target, closesAfter: true)
      var request = LoopbackRequest()
      (request.method, request.target, request.head) = (malformed.method, malformed.target, bytes)
      actions.append(.requestBegan(request))
    }
    let last = turns.endIndex - 1
    (turns[last].isMalformed, turns[last].isComplete, turns[last].closesAfter) = (true, true, true)
    actions.append(.requestEnded(.malformed(malformed.reason), trailers: []))
  }

  private mutating func clientLeft(_ actions: inout [Action]) {
    let abandoned = turns.first
    if parser.isInsideHead {
      refuse(.init("the client closed the connection in the middle of the head"), parser.partialHead, &actions)
    }
    end(.closedByClient(while: abandoned?.path), abandoned: abandoned?.target, &actions)
  }
}

// MARK: - Output

extension Conversation {
  private mutating func begin(_ answer: LoopbackAnswer?) {
    omitsBody = false
    work = (answer?.steps ?? []).reversed().map(Work.step)
  }

  /// Performs work until the machine has to wait for an event.
  private mutating func advance(_ actions: inout [Action]) {
    while !hasEnded, case .nothing = awaited {
      if let next = work.popLast() {
        perform(next, &actions)
      } else if isAnswering {
        guard finishAnswer(&actions) else { return }
      } else {
        setReading(true, &actions)
        guard chooseAnswer(&actions) else { return }
      }
    }
  }

  private mutating func perform(_ next: Work, _ actions: inout [Action]) {
    switch next {
    case .drip(let bytes, let from, let chunk, let pause):
      let to = min(from + chunk, bytes.count)
      act(.write(Array(bytes[from..<to])), awaiting: .written, &actions)
      guard to < bytes.count else { return }
      work.append(.drip(bytes, from: to, chunk: chunk, every: pause))
      work.append(.step(.pause(pause)))
    case .step(let step):
      perform(step, &actions)
    }
  }

  private mutating func perform(_ step: LoopbackStep, _ actions: inout [Action]) {
    switch step.kind {
    case .send(let bytes): act(.write(bytes), awaiting: .written, &actions)
    case .respond(let response):
      let turn = isAnswering ? turns.first : nil
      if response.closesConnection, turn != nil { turns[turns.startIndex].closesAfter = true }
      let bytes = response.bytes(method: turn?.method, closing: turn?.closesAfter ?? false)
      omitsBody = !response.hasBody(method: turn?.method)
      act(.write(bytes), awaiting: .written, &actions)
    case .body(let part): sendBody(part.prefix + part.bytes + part.suffix, &actions)
    case .lastChunk: sendBody(Array("0\r\n\r\n".utf8), &actions)
    case .drip(let bytes, let chunk, let pause):
      work.append(.drip(bytes, from: 0, chunk: min(chunk, max(1, bytes.count)), every: pause))
    case .bodyPause where omitsBody: break
    case .pause(let duration), .bodyPause(let duration):
      act(.startTimer(duration), awaiting: .timeElapsed, &actions)
    case .hold(let gate): act(.hold(gate), awaiting: .gateOpened, &actions)
    case .stall: awaited = .end
    case .stopReading: setReading(false, &actions)
    case .read(let count):
      guard count > 0, turns.first?.isComplete == false else { return }
      setReading(true, &actions)
      awaited = .bytes(count)
    case .finishSending: actions.append(.finishSending)
    case .close: end(.closedByServer, &actions)
    case .reset: end(.closedByServer, resetting: true, &actions)
    }
  }

  private mutating func sendBody(_ bytes: [UInt8], _ actions: inout [Action]) {
    guard !omitsBody, !bytes.isEmpty else { return }
    act(.write(bytes), awaiting: .written, &actions)
  }

  private mutating func act(_ action: Action, awaiting event: Awaited, _ actions: inout [Action]) {
    awaited = event
    actions.append(action)
  }

  /// Returns whether the next request can be answered.
  private mutating func finishAnswer(_ actions: inout [Action]) -> Bool {
    setReading(true, &actions)
    guard let turn = turns.first else { return true }
    if turn.closesAfter {
      end(.closedByServer, &actions)
      return false
    }
    guard turn.isComplete else { return false }  // Answered early: the body must arrive first.
    turns.removeFirst()
    isAnswering = false
    return true
  }

  private mutating func setReading(_ reads: Bool, _ actions: inout [Action]) {
    guard reads != isReading else { return }
    isReading = reads
    actions.append(.setReading(reads))
  }

  /// Returns whether there is work to perform.
  private mutating func chooseAnswer(_ actions: inout [Action]) -> Bool {
    guard let turn = turns.first else { return false }
    if turn.isMalformed {
      isAnswering = true
      begin([.respond(status: 400), .close])
      return true
    }
    guard turn.isComplete || !turn.wasOffered else { return false }
    turns[turns.startIndex].wasOffered = true
    let moment = turn.isComplete ? LoopbackMoment.requestComplete : .headComplete
    act(.choose(sequence: turn.sequence, moment), awaiting: .chosen, &actions)
    return true
  }

  /// Sends `100 Continue`, if the client expects it and no answer begins before the body is complete.
  private mutating func invite(_ actions: inout [Action]) {
    guard let turn = turns.first, turn.expectsContinue, !turn.isComplete else { return }
    act(.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)), awaiting: .written, &actions)
  }

  private mutating func end(
    _ state: LoopbackConnection.State, abandoned: String? = nil, resetting: Bool = false, _ actions: inout [Action]
  ) {
    hasEnded = true
    work = []
    turns = []
    actions.append(.end(state, abandoned: abandoned, resetting: resetting))
  }
}
