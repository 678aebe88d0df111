import FutureTree
import TestSupport
import Testing

/// The code of the guide *Migrating from callbacks, Combine or async/await*, word for word. `GuideTests` compares the two.
@Suite("Guide: Migrating from callbacks, Combine or async/await")
struct MigratingFromOtherStylesGuideSnippets {
  private let print = Transcript()
  private let client = PageClient()

  // guide handlers
  func load(_ path: String) -> Future<String> {
    .wrappingOptionals { completion in
      client.get(path, completion)
    } cancel: { call in
      call.stop()
    }
  }

  @discardableResult
  func title(of path: String, completion: @escaping @Sendable (Result<String, any Error>) -> Void) -> Future<String> {
    load(path).map { $0.uppercased() }.report(to: completion)
  }
  // end

  @Test("Conversion from and to completion handlers")
  func handlers() {
    title(of: "/page") { print((try? $0.get()) ?? "none") }
    let stopped = title(of: "/other") { _ in }

    client.answer("/page", "title")
    stopped.cancel()

    #expect(print.lines == ["TITLE"])
    #expect(client.stopped == ["/other"])
  }

  @Test("A cancelled task leaves the future to the other consumers")
  func tasks() async throws {
    // guide await
    let page = load("/page")
    let size = page.map { $0.count }  // A second consumer of `page`.
    let task = Task { try await page.value }
    task.cancel()

    do { _ = try await task.value } catch { print(type(of: error)) }  // CancellationError
    print(client.stopped)  // []; `size` has interest in the page
    client.answer("/page", "four")
    print(try await size.value)  // 4
    // end

    #expect(print.lines == ["CancellationError", "[]", "4"])
  }

  @Test("An async body")
  func body() async throws {
    // guide body
    let shout = load("/word").asyncMap { word in
      await Task.yield()
      return word.uppercased()
    }
    client.answer("/word", "tree")
    print(try await shout.value)  // TREE
    // end

    #expect(print.lines == ["TREE"])
  }
}
