import Foundation
import FutureTree
import FutureTreePictures
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Pictures of the tree: drawings") struct TreeDrawingTests {
  /// Names that could break out of a quoted label, a line, a comment or a tag.
  static let hostileNames = [
    "a\"b", "a\\\"; evil [x=1]; \\", "line\nbreak\r\ttab", "</text><script>alert(1)</script>", "&lt;b&gt; &amp; &#0;",
    "[brackets](link) {curly} |pipe|", "`code` **bold** #35; #quot; %% comment", "end\"] --> f9[\"evil",
    "emoji 👩‍👩‍👧 é 漢字",
    "\u{0}null", "\u{202E}turned", "\u{2028}separator", "\u{1B}[31mred", "\\N \\G \\n",
    "<b>html</b>", "", "end", "graph",
  ]

  @Test("The text of a tree can show request options and source locations")
  func places() {
    let promise = Promise<Int>(fileID: "App/Load.swift", line: 3)
    let load = promise.future.named("load", fileID: "App/Page.swift", line: 5)
    let page = load.map { $0 }.named("page", fileID: "App/Page.swift", line: 6)
    let badge = load.map { $0 }
    let reason = CancellationReason("closed", fileID: "App/Tab.swift", line: 7)
    page.cancel(.doNotForwardIfOthersWaiting, reason: reason)
    let withheld = load.tree()
    badge.cancel(.doNotForwardIfOthersWaiting, reason: reason)

    expectEqual(
      withheld.text(showsSourceLocations: true),
      """
      load    pending, 1 consumer, withheld [doNotForwardIfOthersWaiting]: closed (App/Tab.swift:7), \
      created at App/Load.swift:3  ← here
      └─ map  pending
      """)
    expectEqual(
      load.tree().text(),
      """
      load    pending, 1 consumer, asked to cancel [doNotForwardIfOthersWaiting]: closed (App/Tab.swift:7)  ← here
      └─ map  pending, asked to cancel [doNotForwardIfOthersWaiting]: closed (App/Tab.swift:7)
      """)
    let left = page.tree().text(showsSourceLocations: true)
    expectEqual(left, "page  cancelled: closed (App/Tab.swift:7), created at App/Page.swift:6")
    withExtendedLifetime(promise) {}
  }

  @Test("DOT has an edge from each future to each of its waiters")
  func dot() {
    let promise = Promise<Int>(fileID: "App/Load.swift", line: 3)
    let user = promise.future.named("user").shared()
    let badge = user.map { $0 }.named("badge", fileID: "App/Page.swift", line: 6)

    expectEqual(
      user.tree().dot(),
      """
      digraph tree {
        rankdir=LR
        node [shape=box, style=filled, fontname="sans-serif"]
        f0 [label="user\\npending\\n1 consumer\\nshared\\ncreated at App/Load.swift:3", fillcolor="#ffffff", \
      penwidth=3, peripheries=2]
        f1 [label="badge\\npending\\ncreated at App/Page.swift:6", fillcolor="#ffffff"]
        f0 -> f1
      }

      """)
    withExtendedLifetime((promise, badge)) {}
  }

  @Test("Mermaid shows the tree as a flowchart")
  func mermaid() {
    let promise = Promise<Int>(fileID: "App/Load.swift", line: 3)
    let executor = ManualExecutor()
    let user = promise.future.named("user")
    let badge = Future.all([user.map { $0 }]).named("badge", fileID: "App/Page.swift", line: 6)
    let queued = Future.succeeded(1).map(on: executor.executor) { $0 }

    expectEqual(
      badge.tree().mermaid(),
      """
      flowchart LR
        f0["badge<br/>pending<br/>created at App/Page.swift:6"]
        f1["map<br/>pending<br/>1 consumer"]
        f2["user<br/>pending<br/>1 consumer<br/>created at App/Load.swift:3"]
        f1 --> f0
        f2 --> f1
        style f0 fill:#ffffff,color:#000,stroke-width:3px

      """)
    #expect(queued.tree().mermaid().contains("style f0 fill:#fff3c4,color:#000,stroke-width:3px"))
    executor.runAll()
    withExtendedLifetime(promise) {}
  }

  @Test("A hostile name or reason stays inside its label", arguments: hostileNames)
  func hostile(name: String) {
    let promise = Promise<Int>()
    let future = promise.future.named(name)
    let waiting = future.map { $0 }
    future.cancel(reason: CancellationReason(name))
    let tree = future.tree()

    let dot = tree.dot().split(separator: "\n")
    let mermaid = tree.mermaid().split(separator: "\n")

    expectEqual(tree.text().split(whereSeparator: \.isNewline).count, 2)
    #expect(dot.count == 7 && mermaid.count == 5, "one line for each future")
    #expect(dot[3].hasPrefix("  f0 [label=\"") && dot[3].hasSuffix("\", fillcolor=\"#ffffff\", penwidth=3]"))
    #expect(isOpen(dot[3].dropFirst("  f0 [label=\"".count).dropLast("\", fillcolor=\"#ffffff\", penwidth=3]".count)))
    let label = mermaid[1].dropFirst("  f0[\"".count).dropLast("\"]".count).replacing("<br/>", with: "")
    #expect(mermaid[1].hasPrefix("  f0[\"") && mermaid[1].hasSuffix("\"]"))
    #expect(!label.contains(where: { "\"<>[]{}|`\\%&".contains($0) }), "\(label)")
    for drawing in [tree.text(), tree.dot(), tree.mermaid()] {
      let scalars = drawing.unicodeScalars
      #expect(!scalars.contains { $0.value < 0x20 && $0 != "\n" || (0x2028...0x202E).contains($0.value) })
    }
    withExtendedLifetime((promise, waiting)) {}
  }

  /// Whether no quote in the text ends a DOT string, and no backslash escapes the quote after it.
  private func isOpen(_ text: Substring) -> Bool {
    var isEscaped = false
    for character in text {
      if character == "\"", !isEscaped { return false }
      isEscaped = character == "\\" && !isEscaped
    }
    return !isEscaped
  }

  @Test("A deep branch continues on a later line")
  func deep() {
    let promise = Promise<Int>()
    var tail = promise.future.named("0")
    for index in 1...25 { tail = tail.map { $0 }.named("\(index)") }

    let lines = promise.future.tree().text().split(separator: "\n").map { $0.drop { $0 == " " } }

    expectEqual(lines.count, 27)
    #expect(lines[20].hasPrefix("└─ 20") && lines[20].hasSuffix("(continued below: 1)"))
    #expect(lines[21].hasPrefix("(1) 20 ") && lines[21].hasSuffix("pending, 1 consumer"))
    #expect(lines[26].hasPrefix("└─ 25 "))
    promise.succeed(1)
  }

  @Test("One long name does not widen every line")
  func longName() {
    let promise = Promise<Int>()
    let waiting = promise.future.map { $0 }.named(String(repeating: "n", count: 1_000))

    #expect(promise.future.tree().text().count < 1_100)
    withExtendedLifetime((promise, waiting)) {}
  }

  @Test(
    "Graphviz renders a picture with hostile names",
    .enabled(if: Graphviz.isInstalled, "SKIPPED: this machine has no dot (Graphviz)"))
  func graphviz() throws {
    let promise = Promise<Int>()
    let futures = Self.hostileNames.map { name in promise.future.map { $0 }.named(name) }
    let joined = Future.all(futures).named("all of them")

    let picture = try Graphviz.svg(of: joined.tree().dot())

    expectEqual(picture.count(of: "<g id=\"node"), Self.hostileNames.count + 2)
    expectEqual(picture.count(of: "<g id=\"edge"), 2 * Self.hostileNames.count)
    #expect(picture.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !picture.contains("<script"))
    #expect(picture.contains("end&quot;] &#45;&#45;&gt; f9[&quot;evil"), "names are shown unchanged")
    #expect(picture.contains("&amp;lt;b&amp;gt; &amp;amp; &amp;#0;"), "entities in a name are text")
    withExtendedLifetime(promise) {}
  }
}

/// The `dot` that renders DOT, if the machine has it.
enum Graphviz {
  private static let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    .map { "\($0)/dot" }.first { FileManager.default.isExecutableFile(atPath: $0) }

  static var isInstalled: Bool { path != nil }

  static func svg(of drawing: String) throws -> String {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (source, picture) = (folder.appending(path: "tree.dot"), folder.appending(path: "tree.svg"))
    try Data(drawing.utf8).write(to: source)
    let process = Process()
    process.executableURL = URL(filePath: try #require(path))
    process.arguments = ["-Tsvg", source.path, "-o", picture.path]
    try process.run()
    process.waitUntilExit()
    expectEqual(process.terminationStatus, 0)
    return try String(contentsOf: picture, encoding: .utf8)
  }
}

extension String {
  fileprivate func count(of part: String) -> Int { components(separatedBy: part).count - 1 }
}
