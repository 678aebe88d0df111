import Foundation
import FutureTree
import FutureTreePictures
import FutureTreeTesting
import TestSupport
import Testing

/// The code of the guide *Pictures*, word for word, and its drawings. `PicturesGuideTests` compares the code.
@Suite("Guide: Pictures")
struct PicturesGuideSnippets {
  private let print = Transcript()
  private let loads = Locked<[Promise<String>]>([])
  private let clock = ManualClock()

  private func load(_ page: String) -> Future<String> {
    let promise = Promise<String>()
    promise.onRequestCancel { _ in .complete(.cancelled) }
    loads.withLock { $0.append(promise) }
    return promise.future
  }

  /// The drawings of the guide in one language, in order. In place of lines of this file, the guide shows
  /// `App/Page.swift:7`.
  private func drawings(_ language: String) throws -> [String] {
    let guide = try #require(PicturesGuideTests.all.first { $0.name == "Pictures" })
    return try guide.page().blocks.filter { $0.language == language }.map(\.text)
  }

  private func printed(_ index: Int) -> String {
    let line = print.lines[index].replacing(/FutureTreePicturesTests\/\w+\.swift:[0-9]+/, with: "App/Page.swift:7")
    return line.hasSuffix("\n") ? line : line + "\n"
  }

  @Test("A tree as text, Graphviz, Mermaid and JSON")
  func trees() throws {
    // guide text
    let user = load("/users/1").named("user")
    let posts = user.map { "the posts of \($0)" }.named("posts")
    let badge = user.map { "Hello, \($0)" }.named("badge")
    posts.cancel(.doNotForwardIfOthersWaiting, reason: "the tab was closed")

    print(user.tree())
    // end
    #expect(printed(0) == (try drawings("text"))[0])

    // guide dot
    print(user.tree().dot())
    // end
    #expect([printed(1)] == (try drawings("dot")))

    // guide mermaid
    print(user.tree().mermaid())
    // end
    #expect(printed(2) == (try drawings("mermaid"))[0])

    // guide stored
    let stored = try JSONEncoder().encode(user.tree())
    let tree = try JSONDecoder().decode(TreeSnapshot.self, from: stored)
    print(tree == user.tree())  // true
    // end
    #expect(print.lines[3...] == ["true"])
    withExtendedLifetime(badge) {}
  }

  @Test("A forest of pending futures")
  func forest() {
    let user = load("/users/1").named("user")
    let badge = user.map { "Hello, \($0)" }.named("badge")
    // guide forest
    let forest = FutureForest(clock: clock)
    forest.add(user)
    print(forest.snapshot().members.map(\.number))  // [1, 2]
    print(forest.previewCancel(2) as Any)  // Optional(delivered to 1 handler, reached 2 futures)
    // end
    #expect(print.lines == ["[1, 2]", "Optional(delivered to 1 handler, reached 2 futures)"])
    withExtendedLifetime(badge) {}
  }

  @Test("A log as text and as a sequence diagram")
  func log() throws {
    // guide log
    let log = FutureLog(clock: clock)
    let title = load("/title").named("title").logged(in: log)
    let page = title.map { "<h1>\($0)</h1>" }.named("page")
    clock.advance(by: .milliseconds(250))
    page.cancel(reason: "the user went back")

    print(log.text())
    print(log.mermaid())
    // end
    #expect(printed(0) == (try drawings("text"))[1])
    #expect(printed(1) == (try drawings("mermaid"))[1])

    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).html")
    defer { try? FileManager.default.removeItem(at: file) }
    // guide page
    try log.html(title: "The page that was closed").write(to: file, atomically: true, encoding: .utf8)
    // end
    #expect(try String(contentsOf: file, encoding: .utf8).contains("<h1>The page that was closed</h1>"))
  }
}
