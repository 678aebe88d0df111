import FutureTree

/// The state of a tree at one moment, derived from the events of a log up to that moment.
struct Picture {
  struct Drawn {
    enum State: String, CaseIterable {
      case pending, succeeded, failed, cancelled
    }

    var name: String
    var state = State.pending
    /// The error of the failure, or the reason of the cancellation.
    var ending: String?
    var asked: String?
    /// The number of other consumers and the reason of a request that was withheld here.
    var withheld: (others: Int, reason: String)?
    var caption: String?

    /// Whether a request reached the future, but its outcome came from its upstream, with another reason.
    var endedForAnotherReason: Bool { state == .cancelled && asked != nil && asked != ending }
  }

  /// An edge between a future and a future that has, or had, interest in its value.
  struct Edge {
    enum State: String {
      case wanted
      /// The value was delivered.
      case delivered
      /// No value was delivered: the waiter detached, or the other future failed or was cancelled.
      case cut
    }

    let from: Int
    let to: Int
    var state = State.wanted
  }

  /// The futures with their numbers, in the order in which they were created.
  private(set) var futures: [(number: Int, future: Drawn)] = []
  /// The edges in the order in which they were linked.
  private(set) var edges: [Edge] = []
  /// Captions of futures that are not in the log yet.
  private var captions: [String: String] = [:]
}

extension Picture {
  /// Returns the state of the tree after each moment.
  static func history(of moments: [Moment]) -> [Picture] {
    var picture = Picture()
    return moments.map { moment in
      for line in moment.lines { picture.apply(line) }
      return picture
    }
  }

  private mutating func apply(_ line: Moment.Line) {
    switch line {
    case .event(let event): apply(event)
    case .caption(let name, let text):
      captions[name] = text
      for index in futures.indices where futures[index].future.name == name { futures[index].future.caption = text }
    case .note: break
    }
  }

  private mutating func apply(_ event: FutureEvent) {
    let index = index(of: event.future)
    futures[index].future.name = event.name
    futures[index].future.caption = captions[event.name]
    switch event.fact {
    case .created, .joined, .named, .released: break
    case .linked(let input): edges.append(Edge(from: input, to: event.future))
    case .cancelRequested(let request):
      futures[index].future.asked = request.reason.message
      futures[index].future.withheld = nil
    case .withheld(let request, let others):
      futures[index].future.withheld = (others, request.reason.message)
    case .succeeded: end(event.future, .succeeded, nil)
    case .failed(let error): end(event.future, .failed, error)
    case .cancelled(let reason): end(event.future, .cancelled, reason.message)
    }
  }

  private mutating func end(_ number: Int, _ state: Drawn.State, _ text: String?) {
    let index = index(of: number)
    futures[index].future.state = state
    futures[index].future.ending = text
    futures[index].future.withheld = nil
    for index in edges.indices where edges[index].state == .wanted {
      if edges[index].from == number { edges[index].state = state == .succeeded ? .delivered : .cut }
      if edges[index].to == number { edges[index].state = .cut }
    }
  }

  /// Returns the index of a future. A new future is appended.
  private mutating func index(of number: Int) -> Int {
    if let index = futures.firstIndex(where: { $0.number == number }) { return index }
    futures.append((number, Drawn(name: "")))
    return futures.count - 1
  }
}

extension Picture {
  subscript(number: Int) -> Drawn? { futures.first { $0.number == number }?.future }

  /// Returns the names of the futures that have interest in a future now.
  func wanting(_ number: Int) -> [String] {
    edges.filter { $0.from == number && $0.state == .wanted }.compactMap { self[$0.to]?.name }
  }

  /// Returns the names of the futures in which a future has interest now.
  func wanted(by number: Int) -> [String] {
    edges.filter { $0.to == number && $0.state == .wanted }.compactMap { self[$0.from]?.name }
  }

  /// Returns the state in words: `pending, 2 consumers`.
  func stateText(of number: Int) -> String {
    guard let future = self[number] else { return "" }
    let count = wanting(number).count
    guard future.state == .pending, count > 0 else { return future.state.rawValue }
    return "pending, \(count) consumer\(count == 1 ? "" : "s")"
  }

  /// Returns the short text below the state of a future.
  func brief(of number: Int) -> String {
    guard let future = self[number] else { return "" }
    if let (others, _) = future.withheld { return "withheld: \(others) other consumer\(others == 1 ? "" : "s")" }
    if let caption = future.caption { return caption }
    if future.state == .pending || future.endedForAnotherReason, let asked = future.asked {
      return "asked to cancel: \(asked)"
    }
    return future.ending ?? ""
  }

  /// Returns the short text with the withheld request, and with the outcome's reason if it belongs to another request.
  func detail(of number: Int) -> String {
    guard let future = self[number] else { return "" }
    var parts = [brief(of: number)]
    if let withheld = future.withheld { parts.append("asked to cancel: \(withheld.reason)") }
    if future.endedForAnotherReason, let ending = future.ending { parts.append("ended: \(ending)") }
    return parts.joined(separator: "; ")
  }
}
