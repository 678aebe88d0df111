import Foundation

/// The public symbols of a module, as `swift symbolgraph-extract` writes them.
public struct SymbolGraph {
  /// The name of the folder, which is that of the module.
  public let module: String
  let symbols: [Symbol]

  /// Reads all symbol graphs in a folder.
  public init(at path: String) throws {
    let folder = URL(filePath: path)
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      .filter { $0.lastPathComponent.hasSuffix(".symbols.json") }
    try self.init(module: folder.lastPathComponent, files.map { try Data(contentsOf: $0) })
  }

  /// - Parameter files: The contents of the files.
  init(module: String, _ files: [Data]) throws {
    struct File: Decodable { let symbols: [Symbol] }
    self.module = module
    // A conformance synthesizes members, such as `!=` or the operators of an `AsyncSequence`.
    symbols = try files.flatMap { try JSONDecoder().decode(File.self, from: $0).symbols }
      .filter { !$0.identifier.precise.contains("::SYNTHESIZED::") }
  }

  struct Symbol: Decodable {
    struct Identifier: Decodable { let precise: String }
    struct Kind: Decodable {
      let identifier: String
      let displayName: String
    }
    struct Fragment: Decodable {
      let kind: String
      let spelling: String
    }
    struct Signature: Decodable {
      struct Parameter: Decodable { let declarationFragments: [Fragment] }
      let parameters: [Parameter]?
    }
    struct Comment: Decodable {
      struct Line: Decodable { let text: String }
      let lines: [Line]
    }

    let identifier: Identifier
    let kind: Kind
    let pathComponents: [String]
    let declarationFragments: [Fragment]?
    let functionSignature: Signature?
    let docComment: Comment?

    var name: String { pathComponents.joined(separator: ".") }
  }
}

// MARK: - Doc comments

extension SymbolGraph {
  /// The symbols that must have a doc comment: all, but for an extension of another module's type as a block, which cannot be named.
  ///
  /// A symbol is documented by its own comment or by that of the requirement that it fulfills (`description`, `==`, a layer's
  /// `reset`): the compiler writes either into the graph.
  private var documentable: [Symbol] { symbols.filter { $0.kind.identifier != "swift.extension" } }

  /// The number of symbols that must have a doc comment.
  public var documentableCount: Int { documentable.count }

  /// The sorted names and kinds of the symbols without a doc comment.
  public var undocumented: [String] {
    documentable.filter { symbol in !(symbol.docComment?.lines.contains { !$0.text.isEmpty } ?? false) }
      .map { "\($0.name) (\($0.kind.displayName.lowercased()))" }.sorted()
  }
}

// MARK: - Closures

extension SymbolGraph {
  /// Returns the number of public functions that take a closure, and the names of those that another differs from only in its
  /// closures. The compiler would try each of them for each link of a chain.
  public static func closures(in graphs: [SymbolGraph]) -> (count: Int, doubles: [String]) {
    let aliases = Set(graphs.flatMap(\.symbols).filter(\.isClosureAlias).compactMap(\.pathComponents.last))
    var functions: [String: Int] = [:]
    for graph in graphs {
      for symbol in graph.symbols {
        let shape = symbol.shape(aliases)
        if shape.contains("closure") { functions["\(graph.module): \(symbol.name)\n\(shape)", default: 0] += 1 }
      }
    }
    let doubles = functions.filter { $0.value > 1 }.map { "\($0.key.prefix { $0 != "\n" }): \($0.value) times" }
    return (functions.values.reduce(0, +), doubles.sorted())
  }
}

extension SymbolGraph.Symbol {
  /// Whether the symbol is a type alias of a closure type.
  fileprivate var isClosureAlias: Bool {
    kind.identifier == "swift.typealias" && declarationFragments?.contains { $0.spelling.contains("->") } == true
  }

  /// Returns the parameter types without parameter names. All closure types are replaced by one word.
  fileprivate func shape(_ aliases: Set<String>) -> String {
    let types = (functionSignature?.parameters ?? []).map { parameter in
      let fragments = parameter.declarationFragments.filter { $0.kind != "internalParam" && $0.kind != "externalParam" }
      let isClosure = fragments.contains { $0.spelling.contains("->") || aliases.contains($0.spelling) }
      return isClosure ? "closure" : fragments.map(\.spelling).joined()
    }
    return kind.identifier + ": " + types.joined(separator: ", ")
  }
}
