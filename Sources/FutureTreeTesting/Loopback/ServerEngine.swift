import Dispatch
import FutureTree

extension LoopbackServer {
  /// The part of a server that its connections know. Sockets are touched on its queue only.
  final class Engine: @unchecked Sendable {  // Because: what is not locked is confined to the queue.
    typealias Route = @Sendable (LoopbackRequest) -> [LoopbackStep]

    let routes = Locked<[String: Route]>([:])
    let record = Locked(LoopbackRecord())
    private let queue = DispatchQueue(label: "FutureTree.LoopbackServer")
    private let listening: any DispatchSourceRead
    private let listener: Int32
    private var connections: [Int: ServerConnection] = [:]
    private var conditions: [(holds: @Sendable (LoopbackRecord) -> Bool, promise: Promise<LoopbackRecord>)] = []
    private var isStopped = false

    init(listener: Int32) {
      self.listener = listener
      listening = DispatchSource.makeReadSource(fileDescriptor: listener, queue: queue)
    }

    func start() {
      listening.setEventHandler { [unowned self] in accept() }
      listening.setCancelHandler { [listener, self] in
        Socket.closeDescriptor(listener)
        withExtendedLifetime(self) {}
      }
      listening.activate()
    }

    /// Stops when what is under way on the queue is done. What still waits for a condition fails.
    func stop() {
      queue.async { [self] in
        guard !isStopped else { return }
        isStopped = true
        listening.cancel()
        for connection in connections.values { connection.close(.closedByServer) }
        conditions = []
      }
    }

    func wait(until holds: @escaping @Sendable (LoopbackRecord) -> Bool) -> Future<LoopbackRecord> {
      let promise = Promise<LoopbackRecord>()
      queue.async { [self] in
        guard !isStopped else { return }
        conditions.append((holds, promise))
        checkConditions()
      }
      return promise.future
    }

    private func accept() {
      while true {
        switch Socket.accept(on: listener) {
        case .connection(let descriptor): connectionOpened(descriptor)
        case .noneWaits: return
        case .noDescriptor: return rest()
        }
      }
    }

    private func connectionOpened(_ descriptor: Int32) {
      let id = record.withLock { record in
        record.connections.append(LoopbackConnection())
        return record.connections.count - 1
      }
      connections[id] = ServerConnection(id: id, descriptor: descriptor, server: self, queue: queue)
      checkConditions()
    }

    /// Lets the process close something: the source would call again and again while a connection waits.
    private func rest() {
      listening.suspend()
      queue.asyncAfter(deadline: .now() + .milliseconds(10)) { [self] in listening.resume() }
    }

    /// Records a request, and says how it is answered.
    func requestArrived(_ request: LoopbackRequest) -> [LoopbackStep] {
      record.withLock { record in
        record.requests.append(request)
        record.connections[request.connection].paths.append(request.path)
      }
      checkConditions()
      let route = routes.withLock { $0[request.path] }
      return route?(request) ?? [.respond(status: 404)]
    }

    func connectionClosed(_ id: Int, _ state: LoopbackConnection.State) {
      connections[id] = nil
      record.withLock { $0.connections[id].state = state }
      checkConditions()
    }

    private func checkConditions() {
      guard !conditions.isEmpty else { return }
      let record = record.withLock { $0 }
      let fulfilled = conditions.filter { $0.holds(record) }.map(\.promise)
      guard !fulfilled.isEmpty else { return }
      conditions.removeAll { condition in fulfilled.contains { $0 === condition.promise } }
      for promise in fulfilled { promise.succeed(record) }
    }
  }
}
