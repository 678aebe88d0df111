import Foundation
import TestSupport
import Testing

@testable import FutureTree
@testable import FutureTreePictures

@Suite("Pages") struct PageTests {
  private func page(named name: String, error: String = "") -> String {
    struct Failed: Error, CustomStringConvertible { let description: String }
    let log = FutureLog()
    let promise = Promise<Int>()
    let load = promise.future.named(name).logged(in: log)
    let first = load.map { $0 }.named(name)
    load.map { $0 }.cancel(.doNotForwardIfOthersWaiting, reason: CancellationReason(name, fileID: "\(name)", line: 1))
    promise.fail(Failed(description: error))
    return withExtendedLifetime(first) { log.html(title: name) + load.tree().html(title: name) }
  }

  @Test(
    "No text of the program becomes a tag, an attribute or a part of the script",
    arguments: TreeDrawingTests.hostileNames)
  func hostile(name: String) {
    let (plain, hostile) = (page(named: "load", error: "load"), page(named: name, error: name))

    expectEqual(tags(of: hostile), tags(of: plain))
    #expect(!hostile.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0 == "\u{202E}" || $0 == "\u{2028}" })
  }

  /// The tags of a page, without the values of their attributes.
  private func tags(of page: String) -> [String] {
    page.utf8.split(separator: UInt8(ascii: "<")).dropFirst().map { part in
      let tag = part.prefix { $0 != UInt8(ascii: ">") }
      let parts = tag.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
      return parts.enumerated().map { $0.isMultiple(of: 2) ? String(decoding: $1, as: UTF8.self) : "" }.joined()
    }
  }

  @Test("The data of the script is JSON with each name", arguments: TreeDrawingTests.hostileNames)
  func data(name: String) throws {
    struct History: Decodable {
      struct Entry: Decodable {
        let number: Int, name: String
        init(from decoder: any Decoder) throws {
          var values = try decoder.unkeyedContainer()
          (number, name) = (try values.decode(Int.self), try values.decode(String.self))
        }
      }
      let futures: [Entry]
    }
    let html = page(named: name)
    let start = try #require(html.range(of: "id=\"data\">")).upperBound
    let json = html[start..<(try #require(html.range(of: "</script>", range: start..<html.endIndex)).lowerBound)]

    let history = try JSONDecoder().decode(History.self, from: Data(json.utf8))

    expectEqual(history.futures.map(\.name), [SafeText.line(name), SafeText.line(name), "map"])
    expectEqual(history.futures.map(\.number), [1, 2, 3])
  }

  @Test("Long texts and towers of marks are shortened, and end with their length")
  func long() {
    expectEqual(SafeText.label(String(repeating: "x", count: 300)).count, 300)
    let long = SafeText.label(String(repeating: "x", count: 10_240))
    expectEqual(long, String(repeating: "x", count: 300) + "… (10240 characters)")
    let tower = SafeText.label("a" + String(repeating: "\u{300}", count: 1_000))
    #expect(tower.unicodeScalars.count < 340)
    expectEqual(tower.unicodeScalars.count { $0 == "\u{300}" }, 4)
    expectEqual(SafeText.label("Grüße 👋🏽 עברית"), "Grüße 👋🏽 עברית")
    expectEqual(SafeText.label("\u{61C}\u{2067}"), "\\u{61C}\\u{2067}")
  }

  @Test("A page loads nothing, and its drawing has literal colors")
  func alone() throws {
    let html = page(named: "load")

    for resource in ["src=", "@import", "url(", "var(", "https:"] { #expect(!html.contains(resource), "\(resource)") }
    #expect(html.split(separator: "href=\"").dropFirst().allSatisfy { $0.hasPrefix("#") })
    let start = try #require(html.range(of: "<svg xmlns=\"http://www.w3.org/2000/svg\"")).lowerBound
    let svg = html[start..<(try #require(html.range(of: "</svg>", range: start..<html.endIndex)).lowerBound)]
    for color in ["fill=\"#ffebe9\"", "fill=\"#ffffff\"", "stroke=\"#a40e26\""] {
      #expect(svg.contains(color), "\(color)")
    }
  }

  @Test("A page of a log has each event, and says how many were dropped")
  func events() {
    let log = FutureLog(limit: 2)
    let promise = Promise<Int>()
    let load = promise.future.named("load").logged(in: log)
    let page = load.map { $0 }.named("page")
    #expect(
      log.html().contains(
        "<p class=\"dim\">2 earlier events were dropped, so that some futures and links are missing.</p>"))
    expectEqual(log.html().split(separator: "<li id=\"e").count, 3)
    #expect(!page.tree().html().contains("id=\"scrubber\""))
    #expect(page.tree().html().contains("2 futures: 2 pending"))
    withExtendedLifetime(promise) {}
  }

  @Test("A page of a snapshot shows the consumers that are not futures")
  func others() {
    let promise = Promise<Int>()
    let load = promise.future.named("load")
    let page = load.map { $0 }.named("page")
    let tokens = [load.cancelToken(), load.cancelToken(), page.cancelToken()]

    let html = load.tree().html()

    #expect(html.contains("<span class=\"consumers\">page, 2 tokens, tasks or threads</span>"))
    #expect(html.contains("<span class=\"consumers\">1 token, task or thread</span>"))
    withExtendedLifetime((promise, tokens)) {}
  }

  @Test("A join that one future waits for is folded: its inputs lead to that future")
  func folded() {
    func drawing(named name: String?, with other: (Future<(Int, Int)>) -> Any? = { _ in nil }) -> PageDrawing {
      let (left, right) = (Promise<Int>(), Promise<Int>())
      let pair = Future.zip(left.future, right.future)
      let sum = (name.map { pair.named($0) } ?? pair).map { $0 + $1 }.named("sum")
      let others = other(pair)
      return withExtendedLifetime((left, right, others)) { PageDrawing(PageHistory(sum.tree())) }
    }
    func edgeCount(_ drawing: PageDrawing) -> Int { drawing.svg(title: "").split(separator: "<g id=\"l").count - 1 }

    let folded = drawing(named: nil)
    expectEqual(folded.folded, 1)
    expectEqual(folded.omitted, 0)
    expectEqual(edgeCount(folded), 2)
    #expect(!folded.svg(title: "").contains(">zip<"))
    // A name, a second future and a token are interesting.
    let whole = [
      drawing(named: "pair"), drawing(named: nil) { $0.map { $0 } }, drawing(named: nil) { $0.cancelToken() },
    ]
    expectEqual(whole.map(\.folded), [0, 0, 0])
    expectEqual(whole.map(edgeCount), [3, 4, 3])
  }

  @Test("Joins of joins are folded, with an edge for each input")
  func foldedTwice() {
    let promises = (0..<4).map { _ in Promise<Int>() }
    let halves = [promises[..<2], promises[2...]].map { Future.all($0.map(\.future)) }
    let sum = Future.all(halves).map { $0.joined().reduce(0, +) }
    let drawing = PageDrawing(PageHistory(sum.tree()))

    expectEqual(drawing.folded, 3)
    expectEqual(drawing.omitted, 0)
    expectEqual(drawing.svg(title: "").split(separator: "<g id=\"l").count - 1, 4)
    #expect(sum.tree().html().contains("3 joins are not drawn"))
    withExtendedLifetime(promises) {}
  }

  @Test("The same log gives the same page")
  func same() {
    let recording = FutureLog.Recording(
      events: [FutureEvent(number: 1, time: .nanoseconds(5), future: 1, name: "load", fact: .succeeded)],
      droppedCount: 0)

    expectEqual(recording.html(), recording.html())
    #expect(FutureLog.Recording(events: [], droppedCount: 0).html().contains("<p id=\"summary\">0 futures</p>"))
  }
}
