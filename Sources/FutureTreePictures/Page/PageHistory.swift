import FutureTree

/// The futures and edges of a page, and their changes over time.
///
/// A snapshot has one moment, number 0. A recording has one moment after each event, numbered from 1. The futures and edges of the
/// history are those of the last moment.
struct PageHistory {
  /// The text of a future in one moment.
  struct Look: Equatable {
    let kind: String
    let isWithheld: Bool
    let state: String
    /// The requests and the end, in short.
    let brief: String
    /// The requests and the end, with options and source locations.
    let detail: String

    init(_ entry: TreeSnapshot.Entry) {
      (kind, isWithheld) = (entry.state.kind, entry.withheldRequest != nil)
      (state, brief, detail) = (entry.headline, PageDrawing.shortened(entry.brief), SafeText.label(entry.details))
    }

    /// The classes of the elements that show the future.
    var classes: String { "future \(kind)\(isWithheld ? " withheld" : "")" }
  }

  /// A link between a future and a future that has, or had, interest in its value.
  struct Edge {
    enum State: String {
      /// The future at the end waits for the value.
      case wanted
      /// The value was delivered.
      case delivered
      /// No value was delivered: the waiter detached, or the other future failed or was cancelled.
      case cut
    }

    let from: Int
    let to: Int
    var changes: [(moment: Int, state: State)]

    var state: State { changes.last?.state ?? .wanted }
  }

  /// The futures in the last moment.
  private(set) var futures: [TreeSnapshot.Entry] = []
  /// The number of each future in its log or its snapshot, counted from 1.
  private(set) var numbers: [Int] = []
  /// The changed texts of each future.
  private(set) var looks: [[(moment: Int, look: Look)]] = []
  private(set) var edges: [Edge] = []
  /// The edges of each future, in both directions.
  private var edgesOf: [[Int]] = []
  private var positions: [Int: Int] = [:]

  init(_ snapshot: TreeSnapshot) {
    futures = snapshot.entries
    numbers = Array(1..<futures.count + 1)
    looks = futures.map { [(0, Look($0))] }
    edges = snapshot.edges.map { Edge(from: $0.from, to: $0.to, changes: [(0, .wanted)]) }
  }

  init(_ events: [FutureEvent]) {
    for (index, event) in events.enumerated() { apply(event, moment: index + 1) }
  }
}

// MARK: - Events

extension PageHistory {
  private mutating func apply(_ event: FutureEvent, moment: Int) {
    let position = position(of: event.future, moment: moment)
    futures[position].name = event.name
    switch event.fact {
    case .created, .joined, .named, .released: break
    case .linked(let input): link(self.position(of: input, moment: moment), to: position, moment: moment)
    case .activity(let text): futures[position].activity = text
    case .cancelRequested(let request):
      futures[position].request = request
      futures[position].withheldRequest = nil
    case .withheld(let request, _): futures[position].withheldRequest = request
    case .succeeded: end(position, .succeeded, moment: moment)
    case .failed(let error): end(position, .failed(error), moment: moment)
    case .cancelled(let reason): end(position, .cancelled(reason), moment: moment)
    }
    update(position, moment: moment)
  }

  private mutating func position(of number: Int, moment: Int) -> Int {
    if let position = positions[number] { return position }
    let position = futures.count
    positions[number] = position
    numbers.append(number)
    // A future whose first events were dropped has no name until its next event.
    futures.append(TreeSnapshot.Entry(name: "future \(number)"))
    looks.append([(moment, Look(futures[position]))])
    edgesOf.append([])
    return position
  }

  private mutating func link(_ input: Int, to waiter: Int, moment: Int) {
    edgesOf[input].append(edges.count)
    edgesOf[waiter].append(edges.count)
    edges.append(Edge(from: input, to: waiter, changes: [(moment, .wanted)]))
    futures[input].consumers += 1
    update(input, moment: moment)
  }

  private mutating func end(_ position: Int, _ state: TreeSnapshot.State, moment: Int) {
    futures[position].state = state
    futures[position].activity = nil
    futures[position].withheldRequest = nil
    for edge in edgesOf[position] where edges[edge].state == .wanted {
      let isDelivered = edges[edge].from == position && state == .succeeded
      edges[edge].changes.append((moment, isDelivered ? .delivered : .cut))
      futures[edges[edge].from].consumers -= 1
      if edges[edge].from != position { update(edges[edge].from, moment: moment) }
    }
    edgesOf[position] = []
  }

  /// Stores the text of a future if it has changed.
  private mutating func update(_ position: Int, moment: Int) {
    let look = Look(futures[position])
    guard let last = looks[position].last, last.look != look else { return }
    if last.moment == moment { looks[position].removeLast() }
    looks[position].append((moment, look))
  }
}

// MARK: - The last moment

extension PageHistory {
  /// Returns the position of the future with a number, or `nil` if the history has none.
  func position(of number: Int) -> Int? { positions[number] }

  func look(of position: Int) -> Look { looks[position].last?.look ?? Look(futures[position]) }

  /// Returns the futures that wait for each future, and the futures that each future waits for, in the last moment.
  func neighbours() -> (consumers: [[Int]], inputs: [[Int]]) {
    var (consumers, inputs) = (
      [[Int]](repeating: [], count: futures.count), [[Int]](repeating: [], count: futures.count)
    )
    for edge in edges where edge.state == .wanted {
      consumers[edge.from].append(edge.to)
      inputs[edge.to].append(edge.from)
    }
    return (consumers, inputs)
  }

  /// The number of futures in each state, such as `5 futures: 3 pending, 2 succeeded`.
  var summary: String {
    var counts: [String: Int] = [:]
    for future in futures { counts[future.state.kind, default: 0] += 1 }
    let parts = TreeSnapshot.State.kinds.compactMap { kind in counts[kind].map { "\($0) \(kind)" } }
    return "\(futures.count) future\(futures.count == 1 ? "" : "s")" + (parts.isEmpty ? "" : ": ")
      + parts.joined(separator: ", ")
  }
}

extension TreeSnapshot.State {
  /// The kinds that a page distinguishes. A future whose body is queued or running is pending.
  static let kinds = ["pending", "succeeded", "failed", "cancelled"]

  var kind: String {
    switch self {
    case .pending, .queued, .running: "pending"
    case .succeeded: "succeeded"
    case .failed: "failed"
    case .cancelled: "cancelled"
    }
  }
}

extension TreeSnapshot.Entry {
  /// The state, the activity and the number of consumers, such as `pending, connecting, 2 consumers`.
  fileprivate var headline: String {
    ([state.isPending ? "\(state)" : state.kind] + interest).joined(separator: ", ")
  }

  /// The latest request, or the end, without options and source locations.
  fileprivate var brief: String {
    if let withheldRequest { return "\(isLingering ? "lingering" : "withheld"): \(withheldRequest.reason.message)" }
    switch state {
    case .failed(let error): return error
    case .cancelled(let reason): return reason.message
    case .pending, .queued, .running: return request.map { "asked to cancel: \($0.reason.message)" } ?? ""
    case .succeeded: return ""
    }
  }

  /// The requests and the end of the future.
  fileprivate var details: String {
    var parts: [String] = []
    switch state {
    case .failed(let error): parts.append(error)
    case .cancelled(let reason): parts.append("\(reason)")
    default: break
    }
    if let request, state.isPending || !isReason(of: request) { parts.append("asked to cancel\(request.text)") }
    if let withheldRequest {
      let cause =
        isLingering ? "lingering" : "withheld while \(consumers) consumer\(consumers == 1 ? " has" : "s have") interest"
      parts.append("\(cause)\(withheldRequest.text)")
    }
    return parts.joined(separator: "; ")
  }

  /// Whether the future was cancelled for the reason of the request.
  private func isReason(of request: CancelRequest) -> Bool {
    if case .cancelled(let reason) = state { reason == request.reason } else { false }
  }
}
