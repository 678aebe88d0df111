// The style of drawings. Colors are literals, because programs other than browsers ignore CSS variables and would draw black.

extension Drawing {
  /// The style sheet with the light colors. A program that detects a dark appearance uses the dark colors instead.
  static let style = """
    .tree { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 13px; }
    .tree .future rect { stroke-width: 1.5; }
    .tree .cancelled rect { stroke-dasharray: 5 4; }
    .tree .withheld rect { stroke-width: 3.5; }
    .tree .name { font-weight: 600; }
    .tree .state { font-weight: 600; font-size: 12px; }
    .tree .detail { font-size: 12px; }
    .tree .sign path, .tree .ring { fill: none; stroke-width: 1.7; stroke-linecap: round; }
    .tree .edge path { fill: none; stroke-width: 1.5; }
    .tree .wanted path { stroke-width: 2.2; }
    .tree .cut path { stroke-dasharray: 3 4; }
    .tree .cut .cross { stroke-width: 2.2; stroke-dasharray: none; stroke-linecap: round; }
    \(Palette.light.rules)
    @media (prefers-color-scheme: dark) {
    \(Palette.dark.rules)
    }
    """
}

/// The colors of a drawing.
private struct Palette {
  let paper, rim, text, dim: String
  /// The colors of the states: lines and signs, and the fill of a box.
  let pending, succeeded, failed, cancelled: (line: String, ground: String)

  static let light = Palette(
    paper: "#ffffff", rim: "#d0d7de", text: "#1f2328", dim: "#59636e", pending: ("#0969da", "#ddf4ff"),
    succeeded: ("#1a7f37", "#dafbe1"), failed: ("#9a6700", "#fff8c5"), cancelled: ("#cf222e", "#ffebe9"))

  static let dark = Palette(
    paper: "#0d1117", rim: "#3d444d", text: "#f0f6fc", dim: "#9198a1", pending: ("#4493f8", "#121d2f"),
    succeeded: ("#3fb950", "#12261e"), failed: ("#d29922", "#272115"), cancelled: ("#f85149", "#25171c"))

  var rules: String {
    let states = [
      ("pending", pending), ("succeeded", succeeded), ("failed", failed), ("cancelled", cancelled),
    ]
    return ([common] + states.map(rules)).joined(separator: "\n")
  }

  private var common: String {
    """
    .tree .paper { fill: \(paper); stroke: \(rim); }
    .tree text { fill: \(text); }
    .tree .detail { fill: \(dim); }
    .tree .edge path { stroke: \(dim); }
    .tree .edge .arrow { fill: \(dim); stroke: none; }
    .tree .wanted path { stroke: \(pending.line); }
    .tree .wanted .arrow { fill: \(pending.line); }
    .tree .cut path { stroke: \(cancelled.line); }
    .tree .cut .arrow { fill: \(cancelled.line); }
    .tree .cut .gap { fill: \(paper); }
    """
  }

  private func rules(of state: String, _ colors: (line: String, ground: String)) -> String {
    """
    .tree .\(state) rect { fill: \(colors.ground); stroke: \(colors.line); }
    .tree .\(state) .state { fill: \(colors.line); }
    .tree .\(state) .sign path, .tree .\(state) .ring { stroke: \(colors.line); }
    .tree .\(state) .sign .disc { fill: \(colors.line); stroke: none; }
    .tree .\(state) .sign .disc + .mark { stroke: \(paper); }
    """
  }
}
