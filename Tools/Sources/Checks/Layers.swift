import Foundation

/// The folders of a module, and the types that they name of each other.
///
/// Only top-level declarations are known by name, so that types with the same name in different places are not confused if one of
/// them is private to its file.
public struct Layers {
  /// What a module allows.
  public struct Module: Sendable {
    public let name: String
    /// The folders, in order. Each names only itself and the folders before it.
    let folders: [String]
    /// A class whose extensions must all be in its own folder.
    let closed: String?

    public init(name: String, folders: [String], closed: String? = nil) {
      self.name = name
      self.folders = folders
      self.closed = closed
    }

    /// The modules of this project that have layers.
    public static let all = [
      Module(
        name: "FutureTree",
        folders: ["Support", "Vocabulary", "Core", "Future", "Operators", "Concurrency", "Interop", "Diagnostics"],
        closed: "Node"),
      Module(
        name: "FutureTreeHTTP",
        folders: [
          "Text", "Messages", "Options", "Loading", "Layers", "Pages", "Streams", "Transport", "URLSession", "Curl",
          "System",
        ]),
      Module(
        name: "FutureTreeHTTP/Layers",
        folders: [
          "ApplyEnvironment", "CircuitBreaker", "Coalesce", "CompressBodies", "Credentials", "ModifyRequest",
          "Observing", "Log",
          "Metrics", "Redirect", "Retry", "Hedge", "Route", "Throttle", "Timeout",
        ]),
      Module(name: "FutureTreeHTTPStore", folders: ["Cookies", "Cache", "Resume", "Uploads"]),
      Module(name: "FutureTreeTransportTesting", folders: ["Simulation", "Conformance", "Load"]),
    ]
  }

  /// The sorted faults, one line each.
  public private(set) var faults: [String] = []
  /// Which folder names which other folder, and the number of types.
  public private(set) var table = ""

  /// Reads the sources of a module.
  ///
  /// - Parameter sources: The text of each file by its path, such as `Sources/FutureTree/Core/Node.swift`.
  public init(_ module: Module, _ sources: [String: String]) {
    let files = sources.sorted { $0.key < $1.key }.compactMap { path, text -> File? in
      let folder = String(path.dropFirst("Sources/\(module.name)/".count).prefix { $0 != "/" })
      return module.folders.contains(folder) ? File(path: path, folder: folder, source: text) : nil
    }
    if sources.count != files.count {
      faults.append("\(module.name): \(sources.count - files.count) files stand in no known folder")
    }
    let homes = Dictionary(files.flatMap { file in file.types.map { ($0, file.folder) } }) { $1 }
    let position = { module.folders.firstIndex(of: $0) ?? 0 }
    var named: [String: [String: Set<String>]] = [:]
    for file in files {
      for word in file.words {
        guard let home = homes[word], home != file.folder else { continue }
        named[file.folder, default: [:]][home, default: []].insert(word)
        if position(home) > position(file.folder) { faults.append("\(file.path) names \(word) of \(home)") }
      }
      if let closed = module.closed, let home = homes[closed], file.extended.contains(closed), file.folder != home {
        faults.append("\(file.path) extends \(closed) outside \(home)")
      }
    }
    faults.sort()
    table = module.folders.reduce(into: "\(module.name), \(files.count) files") { table, folder in
      let others = module.folders.compactMap { home in named[folder]?[home].map { "\(home) \($0.count)" } }
      table += "\n  " + folder.padding(toLength: max(14, folder.count), withPad: " ", startingAt: 0) + " "
      table += others.isEmpty ? "–" : others.joined(separator: ", ")
    }
  }
}

/// The top-level declarations of a file, and the names in its code.
private struct File {
  let path: String
  let folder: String
  /// The types that other files can name.
  private(set) var types: [String] = []
  private(set) var extended: [String] = []
  /// The capitalized words of the code, without the types that are private to the file.
  private(set) var words: Set<String>

  init(path: String, folder: String, source: String) {
    self.path = path
    self.folder = folder
    let code = File.code(of: source)
    // The default boundaries are those of Unicode, which has none inside `Type.member`.
    words = Set(code.matches(of: #/\b[A-Z]\w*\b/#.wordBoundaryKind(.simple)).map { String($0.output) })
    var depth = 0
    let declaration =
      #/
        [{}]
        | \b(private\ |fileprivate\ )?(?:(?:final|indirect)\ )*
          (struct|class|enum|protocol|typealias|actor|extension)\ ([A-Z]\w*)
      /#
      .wordBoundaryKind(.simple)
    for match in code.matches(of: declaration) {
      switch match.output.0 {
      case "{": depth += 1
      case "}": depth -= 1
      default:
        guard depth == 0, let kind = match.output.2, let name = match.output.3.map(String.init) else { continue }
        if kind == "extension" {
          extended.append(name)
        } else if match.output.1 == nil {
          types.append(name)
        } else {
          words.remove(name)
        }
      }
    }
  }

  /// Returns the source without comments and without the contents of literals.
  private static func code(of source: String) -> String {
    source
      .replacing(#/"""(?s:.*?)"""/#, with: "\"\"")
      .replacing(#/"(\\.|[^"\\\n])*"/#, with: "\"\"")
      .replacing(#/\/\/.*/#, with: "")
  }
}
