extension TreeSnapshot: CustomStringConvertible {
  /// The tree as text: `text()`.
  public var description: String { text() }

  /// Returns the tree as text: one line for each future, sources on the left, and below each future the futures that wait
  /// for it.
  ///
  /// A future with several upstream futures is drawn in full below the first, and referred to below the others. A branch that
  /// is too deep is continued further down, under a number. Text that would break a line is escaped.
  ///
  /// - Parameter showsSourceLocations: Whether lines end with the line that created the future, if it is known. Defaults to
  ///   `false`.
  /// - Complexity: O(futures + edges).
  public func text(showsSourceLocations: Bool = false) -> String {
    var drawing = TreeText(tree: self, showsSourceLocations: showsSourceLocations)
    for root in entries.indices where entries[root].upstream.isEmpty { drawing.draw(from: root) }
    for rest in entries.indices { drawing.draw(from: rest) }  // Cycles: futures that wait for each other.
    return drawing.lines()
  }
}

private struct TreeText {
  private let tree: TreeSnapshot
  private let showsSourceLocations: Bool
  private var drawn: [(label: String, text: String)] = []
  private var isDrawn: [Bool]
  /// The futures whose branches continue below, in that order.
  private var continued: [Int] = []
  private var nextContinued = 0
  private var numbers: [Int: Int] = [:]

  /// The maximum depth of a branch. It prevents output that grows with the square of the depth.
  private static let deepest = 20
  /// The maximum width of the label column. Longer labels exceed the column, so that one long name does not widen every line.
  private static let widest = 100

  init(tree: TreeSnapshot, showsSourceLocations: Bool) {
    self.tree = tree
    self.showsSourceLocations = showsSourceLocations
    isDrawn = Array(repeating: false, count: tree.entries.count)
  }

  /// One branch to draw. A stack of branches replaces recursion.
  private struct Branch {
    let position: Int
    var depth = 0
    var indent = ""
    var connector = ""

    var below: String {
      switch connector {
      case "└─ ": indent + "   "
      case "├─ ": indent + "│  "
      default: indent
      }
    }
  }

  /// Draws a future and the futures that wait for it, unless they were drawn before.
  mutating func draw(from root: Int) {
    guard !isDrawn[root] else { return }
    draw(Branch(position: root))
    while nextContinued < continued.count {
      let position = continued[nextContinued]
      nextContinued += 1
      draw(Branch(position: position, connector: "(\(nextContinued)) "))
    }
  }

  private mutating func draw(_ root: Branch) {
    var branches = [root]
    while let branch = branches.popLast() {
      let entry = tree.entries[branch.position]
      let label = branch.indent + branch.connector + SafeText.line(entry.name)
      guard !isDrawn[branch.position] else {
        drawn.append((label, "(see above)"))
        continue
      }
      guard branch.depth < TreeText.deepest || entry.waiters.isEmpty else {
        drawn.append((label, "(continued below: \(number(of: branch.position)))"))
        continue
      }
      isDrawn[branch.position] = true
      drawn.append((label, text(of: entry)))
      for (index, waiter) in entry.waiters.enumerated().reversed() {
        branches.append(
          Branch(
            position: waiter, depth: branch.depth + 1, indent: branch.below,
            connector: index == entry.waiters.count - 1 ? "└─ " : "├─ "))
      }
    }
  }

  private mutating func number(of position: Int) -> Int {
    if let number = numbers[position] { return number }
    continued.append(position)
    numbers[position] = continued.count
    return continued.count
  }

  private func text(of entry: TreeSnapshot.Entry) -> String {
    var text = entry.facts.joined(separator: ", ")
    if showsSourceLocations, let place = entry.createdAt { text += ", created at \(place)" }
    return SafeText.line(text) + (entry.isMarked && tree.entries.count > 1 ? "  ← here" : "")
  }

  func lines() -> String {
    let widths = drawn.map(\.label.count)
    let width = widths.lazy.filter { $0 <= TreeText.widest }.max() ?? 0
    return zip(drawn, widths)
      .map { line, ownWidth in line.label + String(repeating: " ", count: max(width - ownWidth, 0) + 2) + line.text }
      .joined(separator: "\n")
  }
}

extension TreeSnapshot.Entry {
  /// State, activity, consumers and requests, such as `pending`, `connecting`, `2 consumers`,
  /// `asked to cancel: the tab was closed (App/Tab.swift:7)`.
  package var facts: [String] {
    var parts = ["\(state)"] + interest
    if state.isPending, let request { parts.append("asked to cancel\(request.text)") }
    if let withheldRequest { parts.append("\(isLingering ? "lingering" : "withheld")\(withheldRequest.text)") }
    return parts
  }

  /// The activity, the number of consumers and the mark of a pending future, such as `connecting`, `2 consumers`, `shared`.
  package var interest: [String] {
    guard state.isPending else { return [] }
    let count = consumers == 0 ? [] : [consumers == 1 ? "1 consumer" : "\(consumers) consumers"]
    return (activity.map { [$0] } ?? []) + count + (isShared ? ["shared"] : [])
  }
}

extension TreeSnapshot.State: CustomStringConvertible {
  /// Whether the future has no outcome: it is pending, queued or running.
  public var isPending: Bool {
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
