/// A drawing of a tree as SVG. Each state has a color, a sign and a word.
struct Drawing {
  private static let margin = 20

  private let picture: Picture
  private let layout: Layout
  private let title: String

  /// - Parameter layout: The layout of the last picture of a story, so that every future has the same position in all pictures.
  init(_ picture: Picture, _ layout: Layout, title: String) {
    (self.picture, self.layout, self.title) = (picture, layout, title)
  }

  /// Returns the layout of a story. Each future has room for its longest text in any of the pictures.
  static func layout(of history: [Picture]) -> Layout {
    let (futures, edges) = (history.last?.futures ?? [], history.last?.edges ?? [])
    return Layout(numbers: futures.map(\.number), edges: edges.map { ($0.from, $0.to) }) { number in
      history.map { textWidth(of: number, in: $0) }.max() ?? 0
    }
  }

  /// Returns the width of the text: the name is bold, and a sign precedes the state.
  private static func textWidth(of number: Int, in picture: Picture) -> Int {
    max(
      Layout.tenths(of: picture[number]?.name ?? "") * 14 / 10,
      Layout.tenths(of: picture.stateText(of: number)) * 13 / 10 + 20,
      Layout.tenths(of: shortened(picture.brief(of: number))) * 12 / 10)
  }

  private static func shortened(_ text: String) -> String {
    text.count > 40 ? text.prefix(39) + "…" : text
  }

  /// Returns an `svg` element. If it is part of a page, the page has its style.
  func svg(isAlone: Bool) -> String {
    let (width, height) = (layout.width + 2 * Self.margin, layout.height + 2 * Self.margin)
    let namespace = isAlone ? " xmlns=\"http://www.w3.org/2000/svg\"" : ""
    var lines = [
      "<svg\(namespace) class=\"tree\" width=\"\(width)\" height=\"\(height)\" viewBox=\"0 0 \(width) \(height)\" "
        + "role=\"img\" aria-label=\"\(escaped(title))\">"
    ]
    if isAlone { lines += ["<title>\(escaped(title))</title>", "<style>", Self.style, "</style>"] }
    lines.append(#"<rect class="paper" x="0.5" y="0.5" width="\#(width - 1)" height="\#(height - 1)" rx="12"/>"#)
    lines.append("<g transform=\"translate(\(Self.margin) \(Self.margin))\">")
    // Edges with interest are drawn last, so that they lie above the others.
    for edge in picture.edges.filter({ $0.state != .wanted }) + picture.edges.filter({ $0.state == .wanted }) {
      lines += self.lines(of: edge)
    }
    for (number, future) in picture.futures { lines += self.lines(of: number, future) }
    return (lines + ["</g>", "</svg>", ""]).joined(separator: "\n")
  }
}

// MARK: - Parts

extension Drawing {
  /// Returns a curve with an arrow in the direction of the value. A curve without a value to come is crossed out.
  private func lines(of edge: Picture.Edge) -> [String] {
    guard let from = layout.boxes[edge.from], let to = layout.boxes[edge.to] else { return [] }
    let isForward = from.x < to.x
    let direction = isForward ? 1 : -1
    // An edge that leads back ends below the edge that leads on.
    let isBelow = !isForward && picture.edges.contains { $0.from == edge.to }
    let (x1, y1) = (isForward ? from.x + from.width : from.x, from.y + from.height / 2)
    let (x2, y2) = (isForward ? to.x : to.x + to.width, to.y + to.height * (isBelow ? 3 : 2) / 4)
    let middle = (x1 + x2) / 2
    var lines = [
      #"<g class="edge \#(edge.state)">"#,
      #"<path d="M\#(x1) \#(y1)C\#(middle) \#(y1) \#(middle) \#(y2) \#(x2 - 2 * direction) \#(y2)"/>"#,
      #"<path class="arrow" d="M\#(x2) \#(y2)l\#(-8 * direction) -4.5v9z"/>"#,
    ]
    if edge.state == .cut {
      let (x, y) = (middle, (y1 + y2) / 2)
      lines.append(#"<circle class="gap" cx="\#(x)" cy="\#(y)" r="8"/>"#)
      lines.append(#"<path class="cross" d="M\#(x - 4) \#(y - 4)l8 8m0 -8l-8 8"/>"#)
    }
    return lines + ["</g>"]
  }

  private func lines(of number: Int, _ future: Picture.Drawn) -> [String] {
    guard let box = layout.boxes[number] else { return [] }
    let brief = picture.brief(of: number)
    let full = [future.name, picture.stateText(of: number), picture.detail(of: number)].joined(separator: "\n")
    var lines = [
      "<g class=\"future \(future.state)\(future.withheld == nil ? "" : " withheld")\" "
        + "transform=\"translate(\(box.x) \(box.y))\">"
    ]
    lines.append("<title>\(escaped(full))</title>")
    lines.append(#"<rect width="\#(box.width)" height="\#(box.height)" rx="8"/>"#)
    lines.append(#"<text class="name" x="12" y="22">\#(escaped(future.name))</text>"#)
    lines.append(#"<g class="sign" transform="translate(19 38)">\#(Self.sign(of: future.state))</g>"#)
    lines.append(#"<text class="state" x="32" y="42">\#(escaped(picture.stateText(of: number)))</text>"#)
    if !brief.isEmpty {
      lines.append(#"<text class="detail" x="12" y="61">\#(escaped(Self.shortened(brief)))</text>"#)
    }
    return lines + ["</g>"]
  }

  /// Returns a drawn sign for each state, because a font may lack the character.
  static func sign(of state: Picture.Drawn.State) -> String {
    switch state {
    case .pending: #"<circle class="ring" r="6"/><path class="mark" d="M0 -3.5V0.5L2.5 2"/>"#
    case .succeeded: #"<circle class="disc" r="7"/><path class="mark" d="M-3.5 0.5L-1 3L3.5 -2.5"/>"#
    case .failed: #"<path class="disc" d="M0 -7.5L8 6.5H-8z"/><path class="mark" d="M0 -3V1.5M0 4V4.5"/>"#
    case .cancelled: #"<circle class="disc" r="7"/><path class="mark" d="M-2.8 -2.8L2.8 2.8M2.8 -2.8L-2.8 2.8"/>"#
    }
  }
}
