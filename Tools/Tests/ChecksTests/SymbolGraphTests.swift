import Foundation
import Testing

@testable import Checks

@Suite("Gates: closures, documented names") struct SymbolGraphTests {
  /// Returns a graph of one module.
  private func graph(_ symbols: String...) throws -> SymbolGraph {
    try SymbolGraph(module: "Shop", [Data("{\"symbols\": [\(symbols.joined(separator: ", "))]}".utf8)])
  }

  private func symbol(
    _ name: String, kind: String = "swift.method", id: String = "s:1", types: [String] = [], declaration: String = "",
    comment: String? = nil
  ) -> String {
    let parameters = types.map { "{\"declarationFragments\": [{\"kind\": \"text\", \"spelling\": \"\($0)\"}]}" }
    let lines = comment.map { ", \"docComment\": {\"lines\": [{\"text\": \"\($0)\"}]}" } ?? ""
    return """
      {"identifier": {"precise": "\(id)"}, "kind": {"identifier": "\(kind)", "displayName": "Method"},
       "pathComponents": ["Order", "\(name)"], "declarationFragments": [{"kind": "text", "spelling": "\(declaration)"}],
       "functionSignature": {"parameters": [\(parameters.joined(separator: ", "))]}\(lines)}
      """
  }

  @Test("Functions that differ only in a closure are found")
  func doubles() throws {
    let graph = try graph(
      symbol("map(_:)", types: ["(Int) -> Int"]), symbol("map(_:)", types: ["(Int) async -> String"]),
      symbol("map(_:)", types: ["Int"]), symbol("other(_:)", types: ["() -> Void"]))
    #expect(SymbolGraph.closures(in: [graph]) == (3, ["Shop: Order.map(_:): 2 times"]))
  }

  @Test("An alias of a closure type is a closure, also in another module")
  func aliases() throws {
    let aliases = try graph(symbol("Body", kind: "swift.typealias", declaration: "(Int) -> Int"))
    let functions = try graph(symbol("run(_:)", types: ["Body"]), symbol("run(_:)", types: ["() -> Void"]))
    #expect(SymbolGraph.closures(in: [aliases, functions]).doubles.count == 1)
  }

  @Test("Functions that differ in another parameter, or in their kind, are no doubles")
  func different() throws {
    let graph = try graph(
      symbol("map(_:_:)", types: ["Int", "() -> Int"]), symbol("map(_:_:)", types: ["String", "() -> Int"]),
      symbol("map(_:_:)", kind: "swift.type.method", types: ["Int", "() -> Int"]))
    #expect(SymbolGraph.closures(in: [graph]) == (3, []))
  }

  @Test("A symbol without a doc comment is found")
  func undocumented() throws {
    let graph = try graph(
      symbol("a", comment: "Returns a."), symbol("b"), symbol("c", comment: ""),
      symbol("d", id: "s:2::SYNTHESIZED::s:3"), symbol("e", kind: "swift.extension"))
    #expect(graph.undocumented == ["Order.b (method)", "Order.c (method)"] && graph.documentableCount == 3)
  }

  @Test("A folder without graphs has no symbols, and a damaged graph is an error")
  func folders() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "graphs-\(UInt64.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    #expect(try SymbolGraph(at: folder.path).documentableCount == 0)
    try Data("{".utf8).write(to: folder.appending(path: "Shop.symbols.json"))
    #expect(throws: (any Error).self) { try SymbolGraph(at: folder.path) }
  }
}
