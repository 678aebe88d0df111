import Foundation
import FutureTree
import Testing

@testable import TreeInspector

@Suite("Page") struct PageTests {
  @Test("Special characters of HTML are escaped, and invalid characters are replaced")
  func escaping() {
    #expect(escaped(#"<a href='x'>"&amp;"</a>"#) == "&lt;a href=&#39;x&#39;&gt;&quot;&amp;amp;&quot;&lt;/a&gt;")
    #expect(escaped("a\u{0}b\u{1B}c\td\ne") == "a\u{FFFD}b\u{FFFD}c\td\ne")
    #expect(escaped("Grüße 👋🏽") == "Grüße 👋🏽")
  }

  @Test("No name, reason, error, caption or title becomes a tag")
  func noTags() {
    struct Failed: Error, CustomStringConvertible { let description = "<i>error</i>" }
    let stage = Stage()
    let source = stage.source("<i>source</i>", caption: "<i>caption</i>", answers: "<i>answer</i>") { .continue }
    let derived = source.future.map { $0 }.named("<i>derived</i>").logged(in: stage.log)
    let second = source.future.map { $0 }.named("<i>second</i>")
    stage.moment("<i>title</i>", "<i>text</i>") {
      derived.cancel(.doNotForwardIfOthersWaiting, reason: "<i>reason</i>")
      second.cancel(reason: "<i>other reason</i>")
      source.fail(Failed())
    }

    let html = Page(title: "<i>page</i>", stage.moments).html

    #expect(!html.contains("<i>"))
    for text in ["source", "caption", "answer", "derived", "reason", "error", "title", "text", "page"] {
      #expect(html.contains("&lt;i&gt;\(text)&lt;/i&gt;"), "\(text)")
    }
  }

  @Test("A drawing uses literal colors, because many programs do not support CSS variables")
  func literalColors() throws {
    let last = try #require(Picture.history(of: Stage.blog().moments).last)

    let svg = Drawing(last, Drawing.layout(of: [last]), title: "blog").svg(isAlone: true)

    #expect(!svg.contains("var("))
    for color in ["#ffffff", "#ddf4ff", "#dafbe1", "#ffebe9"] { #expect(svg.contains("fill: \(color)"), "\(color)") }
    // Dark colors come last, inside the media query for dark mode.
    let light = try #require(svg.range(of: "fill: #ffffff"))
    let dark = try #require(svg.range(of: "fill: #0d1117"))
    let query = try #require(svg.range(of: "@media (prefers-color-scheme: dark)"))
    #expect(light.upperBound < query.lowerBound && query.upperBound < dark.lowerBound)
  }

  @Test("The legend shows every state and every kind of edge")
  func legend() {
    let html = Page(title: "mail", Stage.mail().moments).html

    for style in ["pending", "succeeded", "failed", "cancelled"].map({ "future \($0)" }) + [
      "edge wanted", "edge delivered", "edge cut", "future pending withheld",
    ] {
      #expect(Drawing.legend.contains("class=\"\(style)\""), "\(style)")
    }
    #expect(html.contains(Drawing.legend))
  }

  @Test("A story produces the same page in each run")
  func sameInEachRun() {
    let pages = (1...2).map { _ in Page(title: "mail", Stage.mail().moments).html }

    #expect(pages[0] == pages[1])
  }
}
