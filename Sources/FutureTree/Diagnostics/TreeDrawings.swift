extension TreeSnapshot {
  /// The tree for Graphviz.
  ///
  /// ```swift
  /// try posts.tree().dot().write(toFile: "posts.dot", atomically: true, encoding: .utf8)
  /// // dot -Tsvg posts.dot > posts.svg
  /// ```
  ///
  /// Sources stand on the left, an arrow leads from each future to what waits for it, and the one that the picture was
  /// taken of has a thick border. What names, reasons and errors hold is escaped.
  ///
  /// - Complexity: O(futures + edges).
  public func dot() -> String {
    var lines = ["digraph tree {", "  rankdir=LR", "  node [shape=box, style=filled, fontname=\"sans-serif\"]"]
    for (position, entry) in entries.enumerated() {
      let label = entry.labelLines.map(Drawing.dot).joined(separator: "\\n")
      let border = (entry.isMarked ? ", penwidth=3" : "") + (entry.isShared ? ", peripheries=2" : "")
      lines.append("  f\(position) [label=\"\(label)\", fillcolor=\"\(entry.state.color)\"\(border)]")
    }
    for (from, to) in edges { lines.append("  f\(from) -> f\(to)") }
    return (lines + ["}", ""]).joined(separator: "\n")
  }

  /// The tree as a flowchart of Mermaid, which documentation and code hosts draw where it stands in a block of that name.
  ///
  /// As `dot()`. Mermaid by itself refuses more than 500 arrows or 50,000 characters; Graphviz does not.
  ///
  /// - Complexity: O(futures + edges).
  public func mermaid() -> String {
    var lines = ["flowchart LR"]
    for (position, entry) in entries.enumerated() {
      let label = entry.labelLines.map(Drawing.mermaid).joined(separator: "<br/>")
      lines.append("  f\(position)[\"\(label)\"]")
    }
    for (from, to) in edges { lines.append("  f\(from) --> f\(to)") }
    for (position, entry) in entries.enumerated() where entry.isMarked || entry.state != .pending {
      let border = entry.isMarked ? ",stroke-width:3px" : ""
      lines.append("  style f\(position) fill:\(entry.state.color),color:#000\(border)")
    }
    return (lines + [""]).joined(separator: "\n")
  }

  /// From each future to what waits for it. An edge that came or went while the picture was taken may be known to one of
  /// the two only.
  private var edges: [(from: Int, to: Int)] {
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
  /// Its name, the facts, and where it was made.
  fileprivate var labelLines: [String] {
    [name] + facts + (createdAt.map { ["made at \($0)"] } ?? [])
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
