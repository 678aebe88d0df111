import FutureTree

extension TreeSnapshot {
  /// Returns the tree as a DOT graph for Graphviz.
  ///
  /// ```swift
  /// try posts.tree().dot().write(toFile: "posts.dot", atomically: true, encoding: .utf8)
  /// // dot -Tsvg posts.dot > posts.svg
  /// ```
  ///
  /// Sources are on the left. An arrow leads from each future to the futures that wait for it. The future on which `tree()`
  /// was called has a thick border. Names, reasons and errors are escaped.
  ///
  /// - Complexity: O(futures + edges).
  public func dot() -> String {
    var lines = ["digraph tree {", "  rankdir=LR", "  node [shape=box, style=filled, fontname=\"sans-serif\"]"]
    for (position, entry) in entries.enumerated() {
      let label = entry.labelLines.map(SafeText.dot).joined(separator: "\\n")
      let border = (entry.isMarked ? ", penwidth=3" : "") + (entry.isShared ? ", peripheries=2" : "")
      lines.append("  f\(position) [label=\"\(label)\", fillcolor=\"\(entry.state.color)\"\(border)]")
    }
    for (from, to) in edges { lines.append("  f\(from) -> f\(to)") }
    return (lines + ["}", ""]).joined(separator: "\n")
  }

  /// Returns the tree as a Mermaid flowchart, which documentation tools and code hosts render in a `mermaid` code block.
  ///
  /// The layout is the same as in `dot()`. By default, Mermaid rejects more than 500 arrows or 50,000 characters. Graphviz
  /// has no such limits.
  ///
  /// - Complexity: O(futures + edges).
  public func mermaid() -> String {
    var lines = ["flowchart LR"]
    for (position, entry) in entries.enumerated() {
      let label = entry.labelLines.map(SafeText.mermaid).joined(separator: "<br/>")
      lines.append("  f\(position)[\"\(label)\"]")
    }
    for (from, to) in edges { lines.append("  f\(from) --> f\(to)") }
    for (position, entry) in entries.enumerated() where entry.isMarked || entry.state != .pending {
      let border = entry.isMarked ? ",stroke-width:3px" : ""
      lines.append("  style f\(position) fill:\(entry.state.color),color:#000\(border)")
    }
    return (lines + [""]).joined(separator: "\n")
  }

  /// The edges from each future to the futures that wait for it. If an edge was added or removed while the snapshot was
  /// taken, only one of its two futures may list it.
  var edges: [(from: Int, to: Int)] {
    var edges: [(from: Int, to: Int)] = []
    var known: Set<Edge> = []
    for (position, entry) in entries.enumerated() {
      for waiter in entry.waiters where known.insert(Edge(from: position, to: waiter)).inserted {
        edges.append((position, waiter))
      }
    }
    for (position, entry) in entries.enumerated() {
      for input in entry.upstream where known.insert(Edge(from: input, to: position)).inserted {
        edges.append((input, position))
      }
    }
    return edges
  }

  private struct Edge: Hashable {
    let from: Int
    let to: Int
  }
}

extension TreeSnapshot.Entry {
  /// The name, the facts, and the line that created the future.
  fileprivate var labelLines: [String] {
    [name] + facts + (createdAt.map { ["created at \($0)"] } ?? [])
  }
}

extension TreeSnapshot.State {
  fileprivate var color: String {
    switch self {
    case .pending: "#ffffff"
    case .queued, .running: "#fff3c4"
    case .succeeded: "#d3f2d9"
    case .failed: "#f9d2d2"
    case .cancelled: "#e0e0e0"
    }
  }
}
