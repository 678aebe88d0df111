import Testing

@testable import Checks

@Suite("Gate: layers") struct LayersTests {
  private let module = Layers.Module(name: "Shop", folders: ["Goods", "Orders"], closed: "Good")

  /// Returns the layers of the module with these files, by their path in its folder.
  private func layers(_ sources: [String: String]) -> Layers {
    Layers(module, Dictionary(uniqueKeysWithValues: sources.map { ("Sources/Shop/" + $0, $1) }))
  }

  private func faults(_ sources: [String: String]) -> [String] { layers(sources).faults }

  @Test("A folder may name the folders before it, and itself")
  func order() {
    let sources = [
      "Goods/Good.swift": "class Good {}\nclass Box: Good {}", "Orders/Order.swift": "struct Order { let good: Good }",
    ]
    #expect(faults(sources) == [])
    #expect(layers(sources).table.hasSuffix("\n  Goods          –\n  Orders         Goods 1"))
  }

  @Test(
    "A folder must not name a later folder",
    arguments: ["Order()", "Order.all", "[Order]", "x as? Order", "\\Order.id"])
  func laterFolder(code: String) {
    let sources = [
      "Goods/Good.swift": "class Good { let x = \(code) }", "Orders/Order.swift": "public struct Order {}",
    ]
    #expect(faults(sources) == ["Sources/Shop/Goods/Good.swift names Order of Orders"])
  }

  @Test(
    "Comments, literals, members and private types do not count",
    arguments: [
      "// Order", "/// An `Order`.", #"let x = "Order \"Order\"""#, "let x = \"\"\"\n  Order\n  \"\"\"",
      "let Orders = 1", "private struct Order {}\nlet x = Order()",
    ])
  func notNamed(code: String) {
    let sources = ["Goods/Good.swift": "class Good {}\n\(code)", "Orders/Order.swift": "struct Order {}"]
    #expect(faults(sources) == [])
  }

  @Test("A nested type is not known by its name alone")
  func nested() {
    let sources = [
      "Goods/Good.swift": "class Good { let x = Line() }", "Orders/Order.swift": "struct Order { struct Line {} }",
    ]
    #expect(faults(sources) == [])
  }

  @Test("A closed class is extended in its own folder only")
  func closed() {
    let sources = [
      "Goods/Good.swift": "class Good {}\nextension Good {}",
      "Orders/Order.swift": "struct Order {}\nextension Good { func f() {} }",
    ]
    #expect(faults(sources) == ["Sources/Shop/Orders/Order.swift extends Good outside Goods"])
  }

  @Test("A file must stand in a known folder")
  func unknownFolder() {
    let sources = ["Goods/Good.swift": "class Good {}", "Other.swift": ""]
    #expect(faults(sources) == ["Shop: 1 files stand in no known folder"])
  }
}
