import FutureTree

/// A story as one HTML file without external resources.
///
/// Without JavaScript, the page is a list of the events. The script hides the list and shows one step at a time.
struct Page {
  private let title: String
  private let moments: [Moment]
  private let history: [Picture]

  init(title: String, _ moments: [Moment]) {
    (self.title, self.moments) = (title, moments)
    history = Picture.history(of: moments)
  }

  var html: String {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
    <title>\(escaped(title))</title>
    <style>
    \(Self.style)
    \(Drawing.style)
    </style>
    </head>
    <body>
    <h1>\(escaped(title))</h1>
    <section id="events" aria-label="Events">
    <ol>
    \(moments.map { listItem(for: $0) }.joined(separator: "\n"))
    </ol>
    </section>
    <section id="steps" aria-label="Step by step" hidden>
    <p class="controls"><button id="back">◀ Back</button> <output id="place"></output> <button id="next">Next ▶</button>
    <span class="hint">or the arrow keys</span></p>
    \(Drawing.legend)
    <div aria-live="polite">
    \(moments.indices.map(step).joined(separator: "\n"))
    </div>
    </section>
    <script>
    \(Self.script)
    </script>
    </body>
    </html>

    """
  }
}

// MARK: - Parts

extension Page {
  private func listItem(for moment: Moment) -> String {
    "<li><h2>\(heading(of: moment))</h2>\n<p>\(escaped(moment.text))</p>\n\(events(of: moment))</li>"
  }

  private func step(_ index: Int) -> String {
    let (moment, picture) = (moments[index], history[index])
    let drawing = Drawing(picture, Drawing.layout(of: history), title: moment.title)
    return """
      <section class="step" hidden>
      <h2>\(heading(of: moment))</h2>
      <p>\(escaped(moment.text))</p>
      <figure>\(drawing.svg(isAlone: false))</figure>
      <div class="columns">
      <div><h3>Who wants what</h3>
      \(table(of: picture))</div>
      <div><h3>Events</h3>
      \(events(of: moment))</div>
      </div>
      </section>
      """
  }

  private func heading(of moment: Moment) -> String {
    "<time>\(Self.seconds(moment.time))</time> \(escaped(moment.title))"
  }

  private func events(of moment: Moment) -> String {
    let items = moment.lines.compactMap(text).map { "<li>\(escaped($0))</li>" }
    return "<ul class=\"events\">\n\(items.joined(separator: "\n"))\n</ul>"
  }

  /// Returns a line of the story, with the final names of the futures.
  private func text(of line: Moment.Line) -> String? {
    switch line {
    case .note(let text): return text
    case .caption: return nil
    case .event(let event):
      if event.fact == .named { return nil }
      let name = history.last?[event.future]?.name ?? event.name
      if case .linked(let input) = event.fact {
        return "\(name): waits for \(history.last?[input]?.name ?? "\(input)")"
      }
      return "\(name): \(event.fact)"
    }
  }

  private func table(of picture: Picture) -> String {
    let rows = picture.futures.map { number, future in
      let cells = [
        "\(Self.sign(of: future.state)) \(future.state)", picture.wanting(number).joined(separator: ", "),
        picture.wanted(by: number).joined(separator: ", "), picture.detail(of: number),
      ]
      return "<tr class=\"\(future.state)\"><th scope=\"row\">\(escaped(future.name))</th>"
        + zip(Self.columns.dropFirst(), cells).map(cell).joined() + "</tr>"
    }
    let head = Self.columns.map { "<th scope=\"col\">\($0)</th>" }
    return
      "<table>\n<thead><tr>\(head.joined())</tr></thead>\n<tbody>\n\(rows.joined(separator: "\n"))\n</tbody>\n</table>"
  }

  private static let columns = ["future", "state", "consumers", "inputs", "requests and end"]

  /// Returns a cell. A narrow page shows the name of the column before the text, and hides empty cells.
  private func cell(_ column: String, _ text: String) -> String {
    text.isEmpty ? "<td class=\"empty\">–</td>" : "<td data-column=\"\(column)\">\(escaped(text))</td>"
  }

  private static func sign(of state: Picture.Drawn.State) -> String {
    switch state {
    case .pending: "◷"
    case .succeeded: "✓"
    case .failed: "!"
    case .cancelled: "✕"
    }
  }

  /// Formats a time in seconds, such as `0.200 s`.
  private static func seconds(_ time: Duration) -> String {
    let milliseconds = time.components.seconds * 1_000 + time.components.attoseconds / 1_000_000_000_000_000
    let fraction = String(milliseconds % 1_000)
    return "\(milliseconds / 1_000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction) s"
  }

  private static let style = """
    :root { color-scheme: light dark; --ink: #1f2328; --line: #d0d7de; --ground: #f6f8fa; }
    @media (prefers-color-scheme: dark) { :root { --ink: #f0f6fc; --line: #3d444d; --ground: #151b23; } }
    body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: var(--ink); background: var(--ground);
      font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; }
    h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-bottom: 0; } h3 { font-size: 1rem; }
    h2 + p { margin-top: 0.25rem; }
    time { font-variant-numeric: tabular-nums; opacity: 0.7; margin-right: 0.5rem; }
    figure { margin: 1rem 0; overflow-x: auto; } figure svg { max-width: 100%; height: auto; }
    button { font: inherit; padding: 0.3rem 0.9rem; }
    output { display: inline-block; min-width: 7rem; text-align: center; }
    .hint { opacity: 0.7; margin-left: 0.5rem; }
    .columns { display: flex; flex-wrap: wrap; gap: 2rem; } .columns > div { flex: 1 1 26rem; min-width: 0; }
    .legend { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; padding: 0; list-style: none; font-size: 0.85rem; }
    .legend svg { vertical-align: middle; margin-right: 0.4rem; }
    .events { padding-left: 1.2rem; overflow-wrap: anywhere; }
    td:nth-child(2) { white-space: nowrap; }
    table { border-collapse: collapse; font-size: 0.9rem; }
    th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.8rem 0.3rem 0; border-bottom: 1px solid var(--line); }
    @media (max-width: 40rem) {
      figure svg { max-width: none; }
      table, tbody, tr, tbody th, td { display: block; border: 0; overflow-wrap: anywhere; }
      thead, .empty { display: none; }
      tr { padding: 0.4rem 0; border-bottom: 1px solid var(--line); }
      tbody th, td { padding: 0; }
      td::before { content: attr(data-column) ": "; opacity: 0.7; }
    }
    """

  private static let script = """
    (function () {
      'use strict';
      var steps = document.querySelectorAll('.step');
      var place = document.getElementById('place');
      var back = document.getElementById('back');
      var next = document.getElementById('next');
      var current = 0;
      function show(index) {
        current = Math.min(Math.max(index, 0), steps.length - 1);
        steps.forEach(function (step, number) { step.hidden = number !== current; });
        place.textContent = 'Step ' + (current + 1) + ' of ' + steps.length;
        back.disabled = current === 0;
        next.disabled = current === steps.length - 1;
      }
      function showFragment() { show((parseInt(location.hash.slice(1), 10) || 1) - 1); }
      // The fragment decides what is shown, so that a step can be linked to and the browser can go back.
      function go(index) { location.hash = Math.min(Math.max(index, 0), steps.length - 1) + 1; }
      back.addEventListener('click', function () { go(current - 1); });
      next.addEventListener('click', function () { go(current + 1); });
      document.addEventListener('keydown', function (event) {
        if (event.altKey || event.ctrlKey || event.metaKey) { return; }
        if (event.key === 'ArrowRight') { go(current + 1); }
        else if (event.key === 'ArrowLeft') { go(current - 1); }
        else if (event.key === 'Home') { go(0); }
        else if (event.key === 'End') { go(steps.length - 1); }
        else { return; }
        event.preventDefault();
      });
      window.addEventListener('hashchange', showFragment);
      document.getElementById('events').hidden = true;
      document.getElementById('steps').hidden = false;
      showFragment();
    })();
    """
}
