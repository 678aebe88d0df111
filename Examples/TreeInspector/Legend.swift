// The legend of a drawing: a list of its shapes and colors, for the page.

extension Drawing {
  static var legend: String {
    let items = (states + marks).map { "<li>\($0.svg)\($0.text)</li>" }
    return "<ul class=\"legend\" aria-label=\"Legend\">\n\(items.joined(separator: "\n"))\n</ul>"
  }

  private static var states: [(svg: String, text: String)] {
    Picture.Drawn.State.allCases.map { state in
      let sign = "<g class=\"sign\" transform=\"translate(22 12)\">\(sign(of: state))</g>"
      return (svg("future \(state)", box + sign), state.rawValue)
    }
  }

  private static var marks: [(svg: String, text: String)] {
    let cross = #"<circle class="gap" cx="20" cy="12" r="8"/><path class="cross" d="M16 8l8 8m0 -8l-8 8"/>"#
    return [
      (svg("future pending withheld", box), "withholds a request"),
      (svg("edge wanted", arrow), "a consumer waits for the value"),
      (svg("edge delivered", arrow), "the value was delivered"),
      (svg("edge cut", arrow + cross), "no value follows, or no consumer waits"),
    ]
  }

  private static let box = #"<rect x="2" y="2" width="40" height="20" rx="5"/>"#
  private static let arrow = #"<path d="M2 12H40"/><path class="arrow" d="M42 12l-8 -4.5v9z"/>"#

  private static func svg(_ style: String, _ content: String) -> String {
    #"<svg class="tree" width="44" height="24" aria-hidden="true"><g class="\#(style)">\#(content)</g></svg>"#
  }
}
