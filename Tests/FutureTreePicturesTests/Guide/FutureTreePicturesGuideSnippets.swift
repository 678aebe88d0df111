import Foundation
import FutureTree
import FutureTreePictures
import TestSupport
import Testing

/// The code of the landing page, word for word. `PicturesGuideTests` compares the two.
@Suite("Guide: FutureTreePictures") struct FutureTreePicturesGuideSnippets {
  private let loading = Promise<String>()

  private func load(_ page: String) -> Future<String> { loading.future }

  @Test("The first example")
  func example() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).html")
    defer { try? FileManager.default.removeItem(at: file) }

    // guide example
    let page = load("/page").named("page")
    let title = page.map { "<h1>\($0)</h1>" }.named("title")
    try title.tree().html(title: "A page that loads").write(to: file, atomically: true, encoding: .utf8)
    // end

    #expect(try String(contentsOf: file, encoding: .utf8).contains("<title>A page that loads</title>"))
  }
}
