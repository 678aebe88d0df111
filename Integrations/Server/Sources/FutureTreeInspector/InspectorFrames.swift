import FutureTree
import FutureTreeHTTP

/// The updates of one open page: each has the futures that have changed since the last.
struct InspectorFrames {
  /// The sent rows.
  private var sent: [Int: String] = [:]
  private var sentThrottles = ""

  /// Returns the next update as JSON: `{"rows": [[number, name, …], …], "gone": [number, …], "throttles": […]}`.
  mutating func next(
    _ snapshot: FutureForest.Snapshot, _ throttles: [(name: String, throttle: Throttle)], now: Duration
  ) -> String {
    var changed: [String] = []
    var current: [Int: String] = [:]
    current.reserveCapacity(snapshot.members.count)
    for (member, future) in zip(snapshot.members, snapshot.tree.entries) where future.state.isPending {
      let row = Self.row(member, future, snapshot.members, now)
      current[member.number] = row
      if sent[member.number] != row { changed.append(row) }
    }
    let gone = sent.keys.filter { current[$0] == nil }.sorted()
    sent = current
    let queues = "[" + throttles.map { Self.row($0.name, $0.throttle) }.joined(separator: ",") + "]"
    defer { sentThrottles = queues }
    return "{\"now\":\(milliseconds(now)),\"rows\":[\(changed.joined(separator: ","))],"
      + "\"gone\":[\(gone.map(String.init).joined(separator: ","))]"
      + (queues == sentThrottles ? "}" : ",\"throttles\":\(queues)}")
  }

  /// Returns a future: `[number, name, state, consumers, since, asked, withheld, waiters, inputs]`.
  private static func row(
    _ member: FutureForest.Member, _ future: TreeSnapshot.Entry, _ members: [FutureForest.Member], _ now: Duration
  ) -> String {
    let waiters = future.waiters.prefix(50).map { String(members[$0].number) }.joined(separator: ",")
    let inputs = future.upstream.prefix(50).map { String(members[$0].number) }.joined(separator: ",")
    let asked = future.request.map { JSON.string("\($0.reason)") } ?? "null"
    let withheld = future.withheldRequest.map { JSON.string("\($0.reason)") } ?? "null"
    let state = "\(future.state)" + (future.isShared ? ", shared" : "") + (future.isLingering ? ", lingering" : "")
    return "[\(member.number),\(JSON.string(future.name)),\"\(state)\",\(future.consumers),"
      + "\(milliseconds(now - member.age)),\(asked),\(withheld),[\(waiters)],[\(inputs)]]"
  }

  /// Returns a throttle: `[name, limit, running, waiting, [request, …]]`, with the first requests of the queue.
  private static func row(_ name: String, _ throttle: Throttle) -> String {
    let waiting = throttle.waitingRequests
    let first = waiting.prefix(20).map { JSON.string("\($0)") }.joined(separator: ",")
    return "[\(JSON.string(name)),\(throttle.limit),\(throttle.runningCount),\(waiting.count),[\(first)]]"
  }
}

private func milliseconds(_ time: Duration) -> Int64 { Int64(time / .milliseconds(1)) }

enum JSON {
  /// Returns a text of at most 1,000 characters as a string literal.
  static func string(_ text: String) -> String {
    var literal = "\""
    for scalar in text.unicodeScalars.prefix(1000) {
      switch scalar {
      case "\"": literal += "\\\""
      case "\\": literal += "\\\\"
      case "\u{0}"..."\u{1F}": literal += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
      default: literal.unicodeScalars.append(scalar)
      }
    }
    return literal + "\""
  }
}
