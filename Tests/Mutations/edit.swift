// Finds the code that mutations change, by declaration and anchor. `Tests/Mutations/run` describes the format and calls this
// script.
//
//   swift Tests/Mutations/edit.swift check             # fails if a mutation no longer applies
//   swift Tests/Mutations/edit.swift apply NAME ROOT   # changes the sources below ROOT, and prints the paths of the changed files
//   swift Tests/Mutations/edit.swift renew NAME        # writes the edits of a mutation from `git diff`, and undoes that change

import Foundation

/// The folders that a mutation can change: its name begins with `H` if they are those of the HTTP modules.
func sources(of mutation: String) -> [String] {
  mutation.hasPrefix("H") ? ["Sources/FutureTreeHTTP", "Sources/FutureTreeHTTPStore"] : ["Sources/FutureTree"]
}

let mutations = "Tests/Mutations/Mutations"

struct Fault: Error { let text: String }

func read(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

extension String {
  var lines: [String] { split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }
  var indentation: Int { prefix { $0 == " " }.count }
  var trimmed: String { String(drop(while: { $0 == " " }).reversed().drop(while: { $0 == " " }).reversed()) }
}

// MARK: - Declarations

/// A function, property or type, with its enclosing types, and its lines up to the closing brace.
struct Declaration {
  let path: [String]
  let isType: Bool
  let indentation: Int
  var lines: Range<Int>
}

let declarationStart =
  #/ *(?:@\w+(?:\([^)]*\))? +|[a-z]+(?:\([a-z]+\))? +)*(func|var|let|init|deinit|subscript|class|struct|enum|protocol|actor|extension)\b *([^ (<:{]*)/#

/// One file of the sources. Declarations are found by indentation, which `.ci/run` checks.
struct Source {
  let path: String
  var lines: [String]
  var declarations: [Declaration] = []

  init(path: String, text: String) {
    self.path = path
    lines = text.lines
    var open: [Declaration] = []
    for (number, line) in lines.enumerated() where !line.trimmed.isEmpty {
      let indentation = line.indentation
      while let last = open.last, indentation <= last.indentation {
        // A signature of several lines continues and ends in the column of its declaration.
        if indentation == last.indentation, line.contains(#/^ *([){}\]]|->|where\b)/#) { break }
        open.removeLast()
        declarations.append(last)
      }
      if open.last?.isType ?? true, let (name, isType) = Self.declared(in: line) {
        open.append(
          Declaration(
            path: (open.last?.path ?? []) + name, isType: isType, indentation: indentation, lines: number..<number + 1))
      }
      for index in open.indices { open[index].lines = open[index].lines.lowerBound..<number + 1 }
    }
    declarations += open
  }

  private static func declared(in line: String) -> (name: [String], isType: Bool)? {
    guard !line.trimmed.hasPrefix("//"), let match = line.prefixMatch(of: declarationStart) else { return nil }
    let kind = String(match.1)
    if ["init", "deinit", "subscript"].contains(kind) { return ([kind], false) }
    guard !match.2.isEmpty else { return nil }
    return (match.2.split(separator: ".").map(String.init), !["func", "var", "let"].contains(kind))
  }

  /// Returns the innermost declaration that contains these lines.
  func declaration(around lines: Range<Int>) -> Declaration? {
    declarations.filter { $0.lines.lowerBound <= lines.lowerBound && lines.upperBound <= $0.lines.upperBound }
      .min { $0.lines.count < $1.lines.count }
  }
}

/// A range of text in a file, from a column of the first line to a column of the last line.
struct Place {
  let file: Int
  let lines: ClosedRange<Int>
  let start: Int
  let end: Int
}

struct Tree {
  var files: [Source]

  /// Reads the sources in some folders of `root`.
  init(root: String, _ folders: [String]) throws {
    files = try folders.flatMap { folder in
      let names = FileManager.default.enumerator(atPath: "\(root)/\(folder)")?.compactMap { $0 as? String } ?? []
      return try names.filter { $0.hasSuffix(".swift") }.sorted()
        .map { Source(path: "\(folder)/\($0)", text: try read("\(root)/\(folder)/\($0)")) }
    }
  }

  /// Returns the declarations with that name. Overloads and declarations in types with the same name count as one.
  func declarations(named name: String) -> [(file: Int, declaration: Declaration)] {
    let path = name.split(separator: ".").map(String.init)
    return files.indices.flatMap { file in
      files[file].declarations.filter { $0.path.suffix(path.count) == path[...] }.map { (file, $0) }
    }
  }

  /// Returns the places of an anchor. It may begin within its first line and end within its last line. Indentation is ignored.
  func places(of anchor: [String], in file: Int, _ range: Range<Int>) -> [Place] {
    let lines = files[file].lines
    var places: [Place] = []
    for number in range where number + anchor.count <= range.upperBound {
      var from = lines[number].startIndex
      while let found = lines[number].range(of: anchor[0], range: from..<lines[number].endIndex) {
        from = found.upperBound
        let start = lines[number].distance(from: lines[number].startIndex, to: found.lowerBound)
        let last = number + anchor.count - 1
        if anchor.count == 1 {
          places.append(Place(file: file, lines: number...number, start: start, end: start + anchor[0].count))
        } else if found.upperBound == lines[number].endIndex,
          (1..<anchor.count - 1).allSatisfy({ lines[number + $0].trimmed == anchor[$0].trimmed }),
          lines[last].trimmed.hasPrefix(anchor.last!.trimmed)
        {
          let end = lines[last].indentation + anchor.last!.trimmed.count
          places.append(Place(file: file, lines: number...last, start: start, end: end))
        }
      }
    }
    return places
  }

  func places(of anchor: [String], within name: String) -> [Place] {
    declarations(named: name).flatMap { places(of: anchor, in: $0.file, $0.declaration.lines) }
  }

  func describe(_ file: Int, _ line: Int) -> String { "\(files[file].path):\(line + 1)" }
}

// MARK: - Mutations

/// An anchor within a declaration, and its replacement.
struct Edit {
  var function: String
  var anchor: [String] = []
  var replacement: [String] = []
}

struct Mutation {
  let name: String
  /// The description and the tests.
  var head: [String] = []
  var edits: [Edit] = []

  init(named wanted: String) throws {
    let names = try Self.names().filter { $0 == wanted || $0.hasPrefix(wanted) }
    guard let name = names.contains(wanted) ? wanted : names.first, names.contains(wanted) || names.count == 1 else {
      throw Fault(text: "\(names.count) mutations have a name that begins with \(wanted)")
    }
    self.name = name
    var function: String?
    for line in try read("\(mutations)/\(name).mutation").lines {
      if edits.isEmpty, function == nil, !line.isEmpty, head.last != "" {
        head.append(line)
      } else if line.isEmpty {
        if head.last != "" { head.append("") }
      } else if line == "-" || line.hasPrefix("- ") {
        guard let function else { throw Fault(text: "\(name): an anchor without a function") }
        if edits.last?.replacement.isEmpty != true || edits.last?.function != function {
          edits.append(Edit(function: function))
        }
        edits[edits.count - 1].anchor.append(String(line.dropFirst(2)))
      } else if line == "+" || line.hasPrefix("+ ") {
        guard !edits.isEmpty, edits.last?.function == function else {
          throw Fault(text: "\(name): a replacement without an anchor")
        }
        edits[edits.count - 1].replacement.append(String(line.dropFirst(2)))
      } else {
        function = line
      }
    }
    if head.last == "" { head.removeLast() }
  }

  static func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: mutations).filter { $0.hasSuffix(".mutation") }.sorted()
      .map { String($0.dropLast(".mutation".count)) }
  }

  func write() throws {
    var text = head.joined(separator: "\n") + "\n"
    var function: String?
    for edit in edits {
      text += edit.function == function ? "" : "\n\(edit.function)\n"
      function = edit.function
      for line in edit.anchor { text += "- \(line)\n" }
      for line in edit.replacement { text += line.isEmpty ? "+\n" : "+ \(line)\n" }
    }
    try text.write(toFile: "\(mutations)/\(name).mutation", atomically: true, encoding: .utf8)
  }

  /// Returns the only place of an edit, or throws an error that lists the other places.
  func place(of edit: Edit, in tree: Tree) throws -> Place {
    let places = tree.places(of: edit.anchor, within: edit.function)
    if places.count == 1 { return places[0] }
    let anchor = "‘\(edit.anchor.joined(separator: " ⏎ "))’"
    if places.count > 1 {
      let found = places.map { "  \(tree.describe($0.file, $0.lines.lowerBound))" }
      throw Fault(text: (["\(name): \(anchor) is not unique in \(edit.function):"] + found).joined(separator: "\n"))
    }
    let declarations = tree.declarations(named: edit.function)
    var text: String
    if declarations.isEmpty {
      let last = edit.function.split(separator: ".").last.map(String.init) ?? edit.function
      let others = tree.declarations(named: last).map {
        "  \($0.declaration.path.joined(separator: ".")), \(tree.describe($0.file, $0.declaration.lines.lowerBound))"
      }
      text = "\(name): there is no \(edit.function). Declarations with that last name:\n"
      text += others.isEmpty ? "  none\n" : others.joined(separator: "\n") + "\n"
    } else {
      text = "\(name): \(edit.function) has no \(anchor). The declaration is at:\n"
      text += declarations.map { "  \(tree.describe($0.file, $0.declaration.lines.lowerBound))\n" }.joined()
    }
    let elsewhere = tree.files.indices.flatMap { file in
      tree.places(of: edit.anchor, in: file, tree.files[file].lines.indices)
    }
    text += "The anchor occurs in:\n"
    text += elsewhere.prefix(5).map {
      let around = tree.files[$0.file].declaration(around: $0.lines.lowerBound..<$0.lines.upperBound + 1)
      return
        "  \(around?.path.joined(separator: ".") ?? "no declaration"), \(tree.describe($0.file, $0.lines.lowerBound))"
    }.joined(separator: "\n")
    throw Fault(text: elsewhere.isEmpty ? text + "  no declaration" : text)
  }

  /// Returns the changed files of the mutation. All anchors are found in the tree without the mutation.
  func applied(to tree: Tree) throws -> [Int: [String]] {
    guard !edits.isEmpty else { throw Fault(text: "\(name): it changes nothing") }
    var changed: [Int: [String]] = [:]
    let placed = try edits.map { (edit: $0, place: try place(of: $0, in: tree)) }
      .sorted { ($0.place.lines.lowerBound, $0.place.start) > ($1.place.lines.lowerBound, $1.place.start) }
    for (edit, place) in placed {
      var lines = changed[place.file] ?? tree.files[place.file].lines
      let (first, last) = (lines[place.lines.lowerBound], lines[place.lines.upperBound])
      guard last.count >= place.end else { throw Fault(text: "\(name): two edits overlap in \(edit.function)") }
      let (before, after) = (String(first.prefix(place.start)), String(last.dropFirst(place.end)))
      let indentation = String(repeating: " ", count: first.indentation)
      var new = edit.replacement.enumerated().map { $0 == 0 || $1.isEmpty ? $1 : indentation + $1 }
      if new.isEmpty, !(before + after).trimmed.isEmpty { new = [""] }
      if !new.isEmpty {
        new[0] = before + new[0]
        new[new.count - 1] += after
      }
      lines.replaceSubrange(place.lines, with: new)
      changed[place.file] = lines
    }
    return changed
  }
}

// MARK: - From a change in the working tree

/// Converts a change of a file into edits with the shortest possible anchors.
struct Renewal {
  let tree: Tree
  let file: Int

  /// - Parameters:
  ///   - old: The removed lines. May be empty.
  ///   - new: The inserted lines.
  func edit(replacing old: Range<Int>, with new: [String]) throws -> Edit {
    let lines = tree.files[file].lines
    // An insertion between two lines has no text to quote, so one of the lines becomes part of the change.
    let around = old.isEmpty ? max(old.lowerBound - 1, 0)..<min(old.lowerBound + 1, lines.count) : old
    guard let declaration = tree.files[file].declaration(around: around) else {
      throw Fault(text: "\(tree.describe(file, old.lowerBound)) is in no declaration")
    }
    let function = declaration.path.joined(separator: ".")
    var (range, new) = (old, new)
    var candidates = [(range, new)]
    while range.lowerBound > declaration.lines.lowerBound || range.upperBound < declaration.lines.upperBound {
      if range.upperBound < declaration.lines.upperBound {
        candidates.append((range.lowerBound..<range.upperBound + 1, new + [lines[range.upperBound]]))
      }
      if range.lowerBound > declaration.lines.lowerBound {
        candidates.append((range.lowerBound - 1..<range.upperBound, [lines[range.lowerBound - 1]] + new))
        range = range.lowerBound - 1..<range.upperBound
        new = [lines[range.lowerBound]] + new
      } else {
        (range, new) = candidates.last!
      }
    }
    for (range, new) in candidates {
      let text = lines[range]
      guard let first = text.first, !first.trimmed.isEmpty, text.last?.trimmed != "}" || text.count > 1 else {
        continue
      }
      let indentation = first.indentation
      let whole = text.map { String($0.dropFirst(min(indentation, $0.indentation))) }
      guard new.allSatisfy({ $0.isEmpty || $0.indentation >= indentation }) else { continue }
      let replacement = new.map { String($0.dropFirst(min(indentation, $0.indentation))) }
      guard tree.places(of: whole, within: function).count == 1 else { continue }
      return shorter(Edit(function: function, anchor: whole, replacement: replacement))
    }
    throw Fault(text: "\(tree.describe(file, old.lowerBound)): no anchor in \(function) is unique")
  }

  /// Removes from both ends of a line, in whole words, the text that is equal before and after. The rest stays unique and
  /// readable: at least two words, with balanced brackets.
  private func shorter(_ edit: Edit) -> Edit {
    guard edit.anchor.count == 1, let first = edit.replacement.first, let last = edit.replacement.last else {
      return edit
    }
    let words = edit.anchor[0].matches(of: #/\w+|[^\w ]| +/#).map { String($0.output) }
    let starts = (0..<words.count).prefix { first.hasPrefix(words.prefix($0).joined()) }
    let ends = (0..<words.count).prefix { last.hasSuffix(words.suffix($0).joined()) }
    let edits = starts.flatMap { start in
      ends.filter { start + $0 < words.count }.map { end in
        let (before, after) = (words.prefix(start).joined(), words.suffix(end).joined())
        var edit = edit
        edit.anchor[0] = String(edit.anchor[0].dropFirst(before.count).dropLast(after.count))
        edit.replacement[0].removeFirst(min(before.count, first.count))
        edit.replacement[edit.replacement.count - 1] = String(edit.replacement.last!.dropLast(after.count))
        return edit
      }
    }
    return edits.sorted { $0.anchor[0].count < $1.anchor[0].count }.first {
      let texts = [$0.anchor[0], $0.replacement.joined(separator: "\n")]
      return texts.allSatisfy { !$0.isEmpty && $0 == $0.trimmed && !",.".contains($0.first!) && hasClosedBrackets($0) }
        && $0.anchor[0].matches(of: #/\w+/#).count > 1
        && tree.places(of: $0.anchor, within: $0.function).count == 1
    } ?? edit
  }

  private func hasClosedBrackets(_ text: String) -> Bool {
    var open: [Character] = []
    for character in text {
      switch character {
      case "(": open.append(")")
      case "[": open.append("]")
      case "{": open.append("}")
      case ")", "]", "}": if open.popLast() != character { return false }
      default: break
      }
    }
    return open.isEmpty
  }
}

func git(_ arguments: String...) throws -> String { try git(arguments) }

func git(_ arguments: [String]) throws -> String {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = ["git"] + arguments
  let pipe = Pipe()
  process.standardOutput = pipe
  try process.run()
  let output = pipe.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  guard process.terminationStatus == 0 else { throw Fault(text: "git \(arguments.joined(separator: " ")) failed") }
  return String(decoding: output, as: UTF8.self)
}

/// Reads the unstaged change. Stage other work first, so that it is not part of the mutation.
func renew(_ name: String) throws {
  var mutation = try Mutation(named: name)
  mutation.edits = []
  let folders = sources(of: mutation.name)
  let mutated = try Tree(root: ".", folders)
  var tree = mutated
  let paths = try git(["diff", "--name-only", "--relative", "--"] + folders).lines.filter { !$0.isEmpty }
  guard !paths.isEmpty else {
    throw Fault(text: "nothing in \(folders.joined(separator: " and ")) differs from what is committed or staged")
  }
  for file in tree.files.indices where paths.contains(tree.files[file].path) {
    tree.files[file] = Source(path: tree.files[file].path, text: try git("show", ":./" + tree.files[file].path))
  }
  for file in tree.files.indices where paths.contains(tree.files[file].path) {
    let (old, new) = (tree.files[file].lines, mutated.files[file].lines)
    for line in try git("diff", "--no-ext-diff", "-U0", "--", tree.files[file].path).lines {
      guard let hunk = line.firstMatch(of: #/^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/#) else { continue }
      let counts = (Int(hunk.2 ?? "1")!, Int(hunk.4 ?? "1")!)
      let starts = (Int(hunk.1)! - (counts.0 > 0 ? 1 : 0), Int(hunk.3)! - (counts.1 > 0 ? 1 : 0))
      precondition(starts.0 + counts.0 <= old.count)
      mutation.edits.append(
        try Renewal(tree: tree, file: file).edit(
          replacing: starts.0..<starts.0 + counts.0, with: Array(new[starts.1..<starts.1 + counts.1])))
    }
  }
  for (file, lines) in try mutation.applied(to: tree) where lines != mutated.files[file].lines {
    throw Fault(text: "\(mutation.name): the edits do not say what changed in \(tree.files[file].path)")
  }
  try mutation.write()
  _ = try git(["checkout", "--quiet", "--"] + paths)
  print("\(mutation.name): edits written (\(mutation.edits.count)), and \(paths.joined(separator: ", ")) restored")
}

// MARK: - Commands

do {
  let arguments = Array(CommandLine.arguments.dropFirst())
  switch (arguments.first, arguments.count) {
  case ("check", 1):
    var faults: [String] = []
    let names = try Mutation.names()
    for (folders, names) in Dictionary(grouping: names, by: sources).sorted(by: { $0.key[0] < $1.key[0] }) {
      let tree = try Tree(root: ".", folders)
      for name in names {
        do { _ = try Mutation(named: name).applied(to: tree) } catch let fault as Fault { faults.append(fault.text) }
      }
    }
    if !faults.isEmpty { throw Fault(text: faults.joined(separator: "\n")) }
    print("\(names.count) mutations apply")
  case ("apply", 3):
    let mutation = try Mutation(named: arguments[1])
    let tree = try Tree(root: arguments[2], sources(of: mutation.name))
    for (file, lines) in try mutation.applied(to: tree) {
      let path = tree.files[file].path
      try lines.joined(separator: "\n").write(toFile: "\(arguments[2])/\(path)", atomically: false, encoding: .utf8)
      print(path)
    }
  case ("renew", 2): try renew(arguments[1])
  default: throw Fault(text: "edit check | apply NAME ROOT | renew NAME")
  }
} catch let fault as Fault {
  print(fault.text)
  exit(1)
}
