import FutureTree

/// One HTML file that shows a snapshot or a recording, without other files.
///
/// Without its script, the page shows the last moment and the events. Texts of the program are escaped.
struct TreePage {
  private let title: String
  private let history: PageHistory
  /// The futures that wait for each future, and the futures that each future waits for, in the last moment.
  private let consumers, inputs: [[Int]]
  private let events: [FutureEvent]
  private let droppedCount: Int

  init(_ title: String, _ history: PageHistory, events: [FutureEvent] = [], droppedCount: Int = 0) {
    (self.title, self.history) = (SafeText.html(SafeText.label(title)), history)
    (consumers, inputs) = history.neighbours()
    (self.events, self.droppedCount) = (events, droppedCount)
  }

  func html() -> String {
    let drawing = PageDrawing(history)
    var lines = [
      """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
      <title>\(title)</title>
      <style>
      \(Self.style)
      </style>
      </head>
      <body>
      <script>document.documentElement.className = 'scripted';</script>
      <h1>\(title)</h1>
      <p id="summary">\(history.summary)</p>
      """
    ]
    lines += notes(drawing)
    lines.append(controls)
    lines += ["<figure>", drawing.svg(title: "The futures as a drawing"), "</figure>", PageDrawing.legend]
    lines += futureList()
    lines += eventList()
    lines.append("<script type=\"application/json\" id=\"data\">")
    lines += data()
    lines.append("</script>\n<script>\n\(Self.script)\n</script>\n</body>\n</html>\n")
    return lines.joined(separator: "\n")
  }
}

// MARK: - Parts

extension TreePage {
  private func notes(_ drawing: PageDrawing) -> [String] {
    var notes: [String] = []
    if droppedCount > 0 {
      let count = droppedCount == 1 ? "1 earlier event was" : "\(droppedCount) earlier events were"
      notes.append("\(count) dropped, so that some futures and links are missing.")
    }
    if drawing.omitted > 0 {
      notes.append(
        "The drawing has \(PageDrawing.limit) of \(history.futures.count) futures. The list has all of them.")
    }
    if drawing.folded > 0 {
      notes.append(
        drawing.folded == 1
          ? "1 join is not drawn: its inputs lead to the future that waits for it."
          : "\(drawing.folded) joins are not drawn: the inputs of each lead to the future that waits for it.")
    }
    return notes.map { "<p class=\"dim\">\($0)</p>" }
  }

  private var controls: String {
    let kinds = (TreeSnapshot.State.kinds + ["withheld"]).map { kind in
      "<label><input type=\"checkbox\" name=\"kind\" value=\"\(kind)\" checked> \(kind)</label>"
    }
    return """
      <section id="controls" aria-label="Controls" hidden>
      \(events.isEmpty ? "" : timeline)
      <div class="controls">
      <label>Name <input type="search" id="filter" autocomplete="off"></label>
      \(kinds.joined(separator: "\n"))
      <label>Drawing <select id="zoom">
      <option value="">fits the window</option>
      <option value="0.5">50%</option>
      <option value="1">100%</option>
      <option value="2">200%</option>
      </select></label>
      <span class="hint dim">Press / to filter\(events.isEmpty ? "" : ", ← and → to step").</span>
      </div>
      </section>
      """
  }

  private var timeline: String {
    """
    <div class="controls">
    <button id="back">Back</button>
    <div class="timeline">
    \(ticks)
    <input type="range" id="scrubber" min="1" max="\(events.count)" value="\(events.count)" aria-label="Event">
    </div>
    <button id="next">Next</button>
    </div>
    <output id="moment" aria-live="polite"></output>
    """
  }

  /// The positions of requests and failures in the time line, at most one of each kind for each thousandth.
  private var ticks: String {
    var places: [(kind: String, places: Set<Int>)] = [("requested", []), ("withheld", []), ("failed", [])]
    for (index, event) in events.enumerated() {
      let place = index * 1000 / max(events.count - 1, 1)
      switch event.fact {
      case .cancelRequested: places[0].places.insert(place)
      case .withheld: places[1].places.insert(place)
      case .failed: places[2].places.insert(place)
      default: break
      }
    }
    let paths = places.map { kind, places in
      "<path class=\"\(kind)\" d=\"\(places.sorted().map { "M\($0) 0v12" }.joined())\"/>"
    }
    return
      "<svg class=\"ticks\" viewBox=\"0 0 1000 12\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\(paths.joined())</svg>"
  }

  private func futureList() -> [String] {
    let rows = history.futures.indices.map { position in
      let look = history.look(of: position)
      return "<li id=\"f\(history.numbers[position])\" class=\"\(look.classes)\"><span class=\"name\"><bdi>"
        + "\(name(position))</bdi> <span class=\"number\">\(history.numbers[position])\(origin(position))</span></span>"
        + "<span class=\"state\">\(SafeText.html(look.state))</span><span class=\"consumers\">"
        + "\(names(consumers[position], and: others(position)))</span>"
        + "<span class=\"inputs\">\(names(inputs[position]))</span><span class=\"detail\">\(SafeText.html(look.detail))</span></li>"
    }
    let head = ["future", "state", "consumers", "inputs", "requests and end"].map { "<span>\($0)</span>" }
    return ["<h2>Futures</h2>", "<div class=\"columns\">\(head.joined())</div>", "<ul id=\"futures\">"] + rows + [
      "</ul>", "<button id=\"more\" hidden></button>",
    ]
  }

  private func name(_ position: Int) -> String { SafeText.html(SafeText.label(history.futures[position].name)) }

  private func origin(_ position: Int) -> String {
    let future = history.futures[position]
    return (future.isMarked ? ", this future" : "")
      + (future.createdAt.map { ", created at \(SafeText.html(SafeText.label("\($0)")))" } ?? "")
  }

  /// Returns the first names of a list. The script shortens lists in the same way.
  private func names(_ futures: [Int], and others: String = "") -> String {
    let names = futures.prefix(5).map(name).joined(separator: ", ")
    return (futures.count > 5 ? "\(names) and \(futures.count - 5) more" : names)
      + (names.isEmpty || others.isEmpty ? others : ", \(others)")
  }

  /// Returns the consumers of a snapshot that are not futures.
  private func others(_ position: Int) -> String {
    let count = history.futures[position].consumers - consumers[position].count
    guard history.futures[position].state.isPending, count > 0 else { return "" }
    return count == 1 ? "1 token, task or thread" : "\(count) tokens, tasks or threads"
  }

  private func eventList() -> [String] {
    let rows = events.enumerated().map { index, event in
      let text = SafeText.html(SafeText.label("\(event.fact)"))
      var target = ""
      if case .linked(let input) = event.fact, let position = history.position(of: input) {
        target = " \(name(position))"
      }
      return "<li id=\"e\(index + 1)\" data-future=\"\(event.future)\"><a href=\"#e\(index + 1)\">\(event.seconds)</a> "
        + "<bdi>\(SafeText.html(SafeText.label(event.name)))</bdi> \(event.future) \(text)\(target)</li>"
    }
    let isHidden = events.isEmpty ? " hidden" : ""
    return ["<h2\(isHidden)>Events</h2>", "<ol id=\"events\" class=\"events\"\(isHidden)>"] + rows + ["</ol>"]
  }

  /// The history as JSON, for the script.
  private func data() -> [String] {
    let futures = history.futures.indices.map { position in
      let looks = history.looks[position].map { moment, look in
        let texts = [look.state, look.brief, look.detail].map(SafeText.json).joined(separator: ",")
        return "[\(moment),\"\(look.kind)\",\(look.isWithheld),\(texts)]"
      }
      let name = SafeText.json(SafeText.label(history.futures[position].name))
      let others = SafeText.json(others(position))
      return "[\(history.numbers[position]),\(name),[\(looks.joined(separator: ","))],\(others)]"
    }
    let edges = history.edges.map { edge in
      let changes = edge.changes.map { "[\($0.moment),\"\($0.state)\"]" }
      return "[\(edge.from),\(edge.to),[\(changes.joined(separator: ","))]]"
    }
    return [
      "{\"futures\":[", futures.joined(separator: ",\n"), "],\"edges\":[", edges.joined(separator: ",\n"), "]}",
    ]
  }
}

// MARK: - API

extension TreeSnapshot {
  /// Returns the tree as a page: one HTML file without other files.
  ///
  /// ```swift
  /// try posts.tree().html(title: "The posts").write(toFile: "posts.html", atomically: true, encoding: .utf8)
  /// ```
  ///
  /// The page has a drawing and a list of the futures: states, names, consumers, and each request with its reason and the place
  /// where it stopped. Names and states can be filtered. The drawing has the 200 futures nearest to this one; the list has all.
  /// The page can be read without JavaScript, printed, and used with the keyboard. It loads nothing from the network.
  ///
  /// Text of the program, such as names, reasons and errors, is escaped. Text of more than 300 characters is shortened.
  ///
  /// - Parameter title: The title of the page.
  /// - Complexity: O(futures + edges).
  public func html(title: String = "Futures") -> String {
    TreePage(title, PageHistory(self)).html()
  }
}

extension FutureLog {
  /// Returns the events as a page with a time line. See `Recording.html(title:)`.
  ///
  /// - Parameter title: The title of the page.
  public func html(title: String = "Futures") -> String { recording().html(title: title) }
}

extension FutureLog.Recording {
  /// Returns the recording as a page with a time line: one HTML file without other files.
  ///
  /// ```swift
  /// let log = FutureLog()
  /// let page = loadPage().logged(in: log)
  /// page.cancel()
  /// try log.html(title: "The page").write(toFile: "page.html", atomically: true, encoding: .utf8)
  /// ```
  ///
  /// The page shows the futures as `TreeSnapshot.html(title:)` does, after any event: select the event in the time line, with the
  /// arrow keys, or with the address. `page.html#e12` shows the futures after the 12th event. The drawing has the latest 200
  /// futures.
  ///
  /// - Parameter title: The title of the page.
  /// - Complexity: O(events log events).
  public func html(title: String = "Futures") -> String {
    TreePage(title, PageHistory(events), events: events, droppedCount: droppedCount).html()
  }
}
