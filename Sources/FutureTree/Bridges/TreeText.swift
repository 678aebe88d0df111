extension TreeSnapshot: CustomStringConvertible {
  /// The tree as text: one line a future, sources on the left, and under each what waits for it.
  ///
  /// A future that waits for several is drawn in full under the first of them, and referred to under the others.
  public var description: String {
    var lines: [(label: String, text: String)] = []
    var drawn: Set<Int> = []
    for root in entries.indices where entries[root].upstream.isEmpty {
      draw(from: root, into: &lines, drawn: &drawn)
    }
    for rest in entries.indices where !drawn.contains(rest) {  // Circles: futures that wait for each other.
      draw(from: rest, into: &lines, drawn: &drawn)
    }
    let width = lines.map(\.label.count).max() ?? 0
    return
      lines
      .map { $0.label + String(repeating: " ", count: width - $0.label.count + 2) + $0.text }
      .joined(separator: "\n")
  }

  /// One branch still to be drawn; a stack of them takes the place of recursion.
  private struct Branch {
    let position: Int
    let indent: String
    let connector: String
  }

  private func draw(from root: Int, into lines: inout [(label: String, text: String)], drawn: inout Set<Int>) {
    var branches = [Branch(position: root, indent: "", connector: "")]
    while let branch = branches.popLast() {
      let entry = entries[branch.position]
      let label = branch.indent + branch.connector + entry.name
      guard drawn.insert(branch.position).inserted else {
        lines.append((label, "(see above)"))
        continue
      }
      lines.append((label, entry.text + (entry.isMarked && entries.count > 1 ? "  ← here" : "")))
      let below: String
      switch branch.connector {
      case "": below = branch.indent
      case "└─ ": below = branch.indent + "   "
      default: below = branch.indent + "│  "
      }
      for (index, waiter) in entry.waiters.enumerated().reversed() {
        let connector = index == entry.waiters.count - 1 ? "└─ " : "├─ "
        branches.append(Branch(position: waiter, indent: below, connector: connector))
      }
    }
  }
}

extension TreeSnapshot.Entry {
  /// State, who wants it, and what was asked, such as `pending, 2 want it, asked: the tab was closed (App/Tab.swift:7)`.
  fileprivate var text: String {
    var parts = ["\(state)"]
    if state.isPending, consumers > 0 { parts.append(consumers == 1 ? "1 wants it" : "\(consumers) want it") }
    if state.isPending, isShared { parts.append("shared") }
    if state.isPending, let request { parts.append("asked: \(request.reason)") }
    if let withheldRequest { parts.append("withheld: \(withheldRequest.reason)") }
    return parts.joined(separator: ", ")
  }
}

extension TreeSnapshot.State: CustomStringConvertible {
  var isPending: Bool {
    switch self {
    case .pending, .queued, .running: true
    case .succeeded, .failed, .cancelled: false
    }
  }

  public var description: String {
    switch self {
    case .pending: "pending"
    case .queued: "queued"
    case .running: "running"
    case .succeeded: "succeeded"
    case .failed(let error): "failed: \(error)"
    case .cancelled(let reason): "cancelled: \(reason)"
    }
  }
}
