import FutureTree

/// The drawing of a page as SVG. Each state has a color, a sign and a word.
///
/// A join that one future waits for is folded: the edges of its inputs lead to that future. The list of a page has all futures.
///
/// The script of the page changes the classes and the texts of the elements `b0`, `b1`, … (futures) and `l0`, `l1`, … (edges).
/// Colors are literals, because programs other than browsers do not support CSS variables and draw black.
struct PageDrawing {
  /// The maximum number of futures in a drawing.
  static let limit = 200
  private static let margin = 20

  private let history: PageHistory
  /// The drawn futures: positions in the history.
  private let futures: [Int]
  /// The drawn edges, with their positions in the history.
  private let edges: [(number: Int, from: Int, to: Int)]
  /// The number of joins that are folded.
  let folded: Int
  private let boxes: [Int: PageLayout.Box]
  private let size: (width: Int, height: Int)

  init(_ history: PageHistory) {
    self.history = history
    let consumers = Self.consumersOfFoldedJoins(in: history)
    let futures = Self.selection(of: history, without: consumers)
    let places = Dictionary(uniqueKeysWithValues: futures.enumerated().map { ($1, $0) })
    let edges = history.edges.enumerated().compactMap { number, edge -> (number: Int, from: Int, to: Int)? in
      var end = edge.to
      while let consumer = consumers[end] { end = consumer }
      return places[edge.from] != nil && places[end] != nil ? (number, edge.from, end) : nil
    }
    let layout = PageLayout(
      textWidths: futures.map { Self.textWidth(of: $0, in: history) },
      edges: edges.map { (places[$0.from] ?? 0, places[$0.to] ?? 0) })
    boxes = places.mapValues { layout.boxes[$0] }
    folded = consumers.count
    self.edges = edges
    size = (layout.width + 2 * Self.margin, layout.height + 2 * Self.margin)
    self.futures = futures
  }

  /// The number of futures that are not drawn.
  var omitted: Int { history.futures.count - futures.count - folded }

  /// Returns the first futures of a snapshot, which are the nearest to the marked one, or the latest futures of a recording.
  private static func selection(of history: PageHistory, without folded: [Int: Int]) -> [Int] {
    let all = history.futures.indices.filter { folded[$0] == nil }
    return Array(history.futures.first?.isMarked == true ? all.prefix(limit) : all.suffix(limit))
  }

  /// Returns the joins without a name of their own and with one consumer, and the future that is this consumer.
  private static func consumersOfFoldedJoins(in history: PageHistory) -> [Int: Int] {
    var (inputs, consumers) = ([Int: Int](), [Int: [Int]]())
    for edge in history.edges {
      inputs[edge.to, default: 0] += 1
      consumers[edge.from, default: []].append(edge.to)
    }
    return consumers.compactMapValues { $0.count == 1 ? $0[0] : nil }.filter { join, _ in
      let entry = history.futures[join]
      return joins.contains(entry.name) && inputs[join] != nil && entry.consumers < 2 && entry.withheldRequest == nil
        && !entry.isMarked
    }
  }

  private static let joins: Set = ["all", "zip", "allSettled", "race", "any"]

  /// Returns the width of the longest texts in any moment: the name is bold, and a sign precedes the state.
  private static func textWidth(of future: Int, in history: PageHistory) -> Int {
    let looks = history.looks[future].map { change in
      max(PageLayout.tenths(of: change.look.state) * 13 / 10 + 20, PageLayout.tenths(of: change.look.brief) * 12 / 10)
    }
    return max(PageLayout.tenths(of: shortened(history.futures[future].name)) * 14 / 10, looks.max() ?? 0)
  }

  /// Returns a text that fits into a box.
  static func shortened(_ text: String) -> String {
    let line = SafeText.label(text)
    let scalars = line.unicodeScalars
    return scalars.count > 40 ? String(String.UnicodeScalarView(scalars.prefix(39))) + "…" : line
  }

  /// The drawing as an `svg` element.
  func svg(title: String) -> String {
    var lines = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tree\" width=\"\(size.width)\" height=\"\(size.height)\" "
        + "viewBox=\"0 0 \(size.width) \(size.height)\" role=\"img\" aria-label=\"\(SafeText.html(title))\">",
      #"<rect class="paper" x="0.5" y="0.5" width="\#(size.width - 1)" height="\#(size.height - 1)" rx="12" "#
        + "fill=\"\(PagePalette.light.paper)\" stroke=\"\(PagePalette.light.rim)\"/>",
      "<g transform=\"translate(\(Self.margin) \(Self.margin))\">",
    ]
    for edge in edges { lines += self.lines(of: edge.number, from: edge.from, to: edge.to) }
    for future in futures { lines += self.lines(ofFuture: future) }
    return (lines + ["</g>", "</svg>"]).joined(separator: "\n")
  }
}

// MARK: - Parts

extension PageDrawing {
  /// Returns a curve with an arrow in the direction of the value. A curve without a value to come is crossed out.
  private func lines(of number: Int, from: Int, to: Int) -> [String] {
    let edge = history.edges[number]
    guard let from = boxes[from], let to = boxes[to] else { return [] }
    let isForward = from.x < to.x
    let direction = isForward ? 1 : -1
    let (x1, y1) = (isForward ? from.x + from.width : from.x, from.y + from.height / 2)
    // An edge that leads back ends below the edge that leads on.
    let (x2, y2) = (isForward ? to.x : to.x + to.width, to.y + to.height * (isForward ? 2 : 3) / 4)
    let (middle, y) = ((x1 + x2) / 2, (y1 + y2) / 2)
    let color = Self.color(of: edge.state)
    return [
      #"<g id="l\#(number)" class="edge \#(edge.state)" fill="none" stroke="\#(color)" stroke-width="1.5">"#,
      #"<path d="M\#(x1) \#(y1)C\#(middle) \#(y1) \#(middle) \#(y2) \#(x2 - 2 * direction) \#(y2)"/>"#,
      #"<path class="arrow" fill="\#(color)" stroke="none" d="M\#(x2) \#(y2)l\#(-8 * direction) -4.5v9z"/>"#,
      #"<path class="cross" d="M\#(middle - 4) \#(y - 4)l8 8m0 -8l-8 8"\#(edge.state == .cut ? "" : " display=\"none\"")/>"#,
      "</g>",
    ]
  }

  private func lines(ofFuture position: Int) -> [String] {
    guard let box = boxes[position] else { return [] }
    let (look, entry) = (history.look(of: position), history.futures[position])
    let colors = PagePalette.light.colors(of: look.kind)
    let name = SafeText.html(Self.shortened(entry.name))
    return [
      "<a href=\"#f\(history.numbers[position])\"><g id=\"b\(position)\" "
        + "class=\"\(look.classes)\(entry.isMarked ? " marked" : "")\" transform=\"translate(\(box.x) \(box.y))\">",
      "<title>\(name)</title>",
      #"<rect width="\#(box.width)" height="\#(box.height)" rx="8" fill="\#(colors.ground)" stroke="\#(colors.line)"/>"#,
      #"<text class="name" x="12" y="22" fill="\#(PagePalette.light.text)">\#(name)</text>"#,
      #"<g transform="translate(19 38)">\#(Self.signs(look.kind))</g>"#,
      #"<text class="state" x="32" y="42" fill="\#(colors.line)">\#(SafeText.html(look.state))</text>"#,
      #"<text class="detail" x="12" y="61" fill="\#(PagePalette.light.dim)">\#(SafeText.html(look.brief))</text>"#,
      "</g></a>",
    ]
  }

  private static func color(of state: PageHistory.Edge.State) -> String {
    switch state {
    case .wanted: PagePalette.light.pending.line
    case .delivered: PagePalette.light.dim
    case .cut: PagePalette.light.cancelled.line
    }
  }

  /// Returns the signs of all states, drawn because a font may lack the characters. Only that of the state is shown.
  private static func signs(_ kind: String) -> String {
    PagePalette.light.states.map { state, colors in
      let shape =
        switch state {
        case "succeeded": #"<path d="M-5 0.5L-1.5 4L5 -4"/>"#
        case "failed": #"<path d="M0 -6V1M0 5V5.5"/>"#
        case "cancelled": #"<path d="M-4 -4L4 4M4 -4L-4 4"/>"#
        default: #"<circle r="6"/><path d="M0 -3.5V0.5L2.5 2"/>"#
        }
      let hidden = state == kind ? "" : " display=\"none\""
      return
        "<g class=\"sign \(state)\" fill=\"none\" stroke=\"\(colors.line)\" stroke-width=\"2\"\(hidden)>\(shape)</g>"
    }.joined()
  }

  /// A list of the shapes and colors.
  static var legend: String {
    let box = #"<rect x="2" y="2" width="40" height="20" rx="5"/>"#
    let arrow =
      #"<path d="M2 12H40"/><path class="arrow" d="M42 12l-8 -4.5v9z"/><path class="cross" d="M16 8l8 8m0 -8l-8 8"/>"#
    let states = TreeSnapshot.State.kinds.map { kind in
      ("future \(kind)", box + "<g transform=\"translate(22 12)\">\(signs(kind))</g>", kind)
    }
    let marks = [
      ("future pending withheld", box, "withholds a request"),
      ("edge wanted", arrow, "a consumer waits for the value"),
      ("edge delivered", arrow, "the value was delivered"),
      ("edge cut", arrow, "no value follows, or no consumer waits"),
    ]
    let items = (states + marks).map { style, content, text in
      "<li><svg class=\"tree\" width=\"44\" height=\"24\" aria-hidden=\"true\"><g class=\"\(style)\">\(content)</g></svg>"
        + "\(text)</li>"
    }
    return "<ul class=\"legend\" aria-label=\"Legend\">\n\(items.joined(separator: "\n"))\n</ul>"
  }
}
