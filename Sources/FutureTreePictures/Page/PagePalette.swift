import FutureTree

/// The colors of a page. Each pair of a text and its ground has a contrast of at least 4.5.
struct PagePalette {
  /// The colors of a state: lines, signs and texts, and the ground of a box.
  typealias Pair = (line: String, ground: String)

  let paper, ground, rim, text, dim: String
  let pending, succeeded, failed, cancelled: Pair

  static let light = PagePalette(
    paper: "#ffffff", ground: "#f6f8fa", rim: "#d0d7de", text: "#1f2328", dim: "#57606a",
    pending: ("#0550ae", "#ddf4ff"),
    succeeded: ("#116329", "#dafbe1"), failed: ("#7d4e00", "#fff8c5"), cancelled: ("#a40e26", "#ffebe9"))

  static let dark = PagePalette(
    paper: "#0d1117", ground: "#151b23", rim: "#3d444d", text: "#f0f6fc", dim: "#9da7b3",
    pending: ("#58a6ff", "#121d2f"),
    succeeded: ("#3fb950", "#12261e"), failed: ("#d29922", "#272115"), cancelled: ("#ff7b72", "#25171c"))

  var states: [(kind: String, colors: Pair)] {
    [("pending", pending), ("succeeded", succeeded), ("failed", failed), ("cancelled", cancelled)]
  }

  func colors(of kind: String) -> Pair { states.first { $0.kind == kind }?.colors ?? pending }

  /// The rules of the page and of the drawing.
  var rules: String {
    let states = states.map { kind, colors in
      """
      .\(kind) > .state { color: \(colors.line); }
      .tree .\(kind) > rect { fill: \(colors.ground); stroke: \(colors.line); }
      .tree .\(kind) > .state { fill: \(colors.line); }
      .tree .sign.\(kind) { stroke: \(colors.line); }
      """
    }
    return """
      body { color: \(text); background: \(ground); }
      a, .number, .dim { color: \(dim); }
      a:hover { color: \(text); }
      input, button, li.future { border-color: \(rim); }
      li.future:target, .events li.current { background: \(paper); outline: 2px solid \(pending.line); }
      .withheld > .detail { color: \(failed.line); }
      .tree .paper { fill: \(paper); stroke: \(rim); }
      .tree .name { fill: \(text); }
      .tree .detail { fill: \(dim); }
      .tree .edge { stroke: \(dim); }
      .tree .edge .arrow { fill: \(dim); }
      .tree .wanted { stroke: \(pending.line); }
      .tree .wanted .arrow { fill: \(pending.line); }
      .tree .cut { stroke: \(cancelled.line); }
      .tree .cut .arrow { fill: \(cancelled.line); }
      .ticks .requested { stroke: \(cancelled.line); }
      .ticks .withheld { stroke: \(failed.line); }
      .ticks .failed { stroke: \(text); }
      \(states.joined(separator: "\n"))
      .tree .unmatched > rect { fill: \(paper); stroke: \(rim); }
      .tree .unmatched > text { fill: \(dim); }
      """
  }
}
