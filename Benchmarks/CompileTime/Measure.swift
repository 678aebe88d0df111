// Type-checks realistic chains of operators and prints the milliseconds of each. Fails if a chain is too slow.
//
//   Benchmarks/compile-time
//
// Each chain is a cycle of links, repeated to three lengths. It is checked as client code in Swift 6 mode, with the main actor
// as the default isolation and `NonisolatedNonsendingByDefault`. Each time is that of one run, or the best of up to nine if a
// limit is exceeded, because another process may use the processor. The code of the README, the guides and the examples is
// checked unchanged.
//
// Limits: 150 ms for a chain of up to 28 links, one second for a longer chain. A chain may take at most six times as long as the
// next shorter length. Four times is usual for twice the length, and an exponential chain takes far longer.

import Foundation

// MARK: - The chains

/// A cycle of links, which begins and ends with a future of a `User`.
struct Chain {
  let name: String
  let cycle: [String]
  /// The numbers of links, in ascending order. By default about ten, twice as many, and four times as many.
  let sizes: [Int]

  init(_ name: String, sizes: [Int]? = nil, _ cycle: String...) {
    self.name = name
    self.cycle = cycle
    let smallest = cycle.count * max(1, 10 / cycle.count)
    self.sizes = sizes ?? [smallest, 2 * smallest, 4 * smallest]
  }

  func code(_ size: Int, named function: String) -> String {
    let links = (0..<size).map { "    " + cycle[$0 % cycle.count] }.joined(separator: "\n")
    return "nonisolated func \(function)(_ api: API, _ screen: Screen) -> Future<User> {\n  api.user(1)\n\(links)\n}\n"
  }
}

let chains = [
  Chain(
    "named calls, `onSuccess`",
    ".onSuccess { user in api.posts(of: user) }", ".onSuccess { posts in api.comments(on: posts[0]) }",
    ".onSuccess { comments in api.user(comments.count + 1) }"),
  Chain(
    "values and futures in turn",
    ".map { $0.id + 1 }", ".onSuccess { api.user($0) }", ".map { $0.id * 2 + 1 }",
    ".onSuccess { id in api.user(id + 1) }"),
  Chain(
    "`flatMap` and `map`", ".flatMap { api.user($0.id + 1) }", ".map { User(id: $0.id * 2 + 1, name: $0.name + \"x\") }"
  ),
  Chain(
    "operators and literals",
    ".map { $0.id * 2 + 1 }", ".map { $0 > 10 ? $0 - 10 : $0 * 3 }", ".map { [\"a\" + \"b\", \"id \\($0)\"] }",
    ".map { $0.count + 1 }", ".onSuccess { api.user($0 + 1) }"),
  Chain(
    "conversions of numbers, types written",
    ".map { $0.id * 2 + 1 }", ".map { (id: Int) -> Double in Double(id) / 3.5 - 1 }",
    ".map { (score: Double) -> Int in Int(score) + 1 }", ".onSuccess { api.user($0 + 1) }"),
  Chain(
    "`traverse` inside closures", sizes: [3, 6],
    ".onSuccess { user in Future.traverse(1...user.id + 1, atMost: 4) { id in api.user(id * 2 + 1) } }",
    ".map { users in users.filter { $0.id > 1 } }", ".map { users in users[0] }"),
  Chain(
    "`traverse` inside closures, types written",
    ".onSuccess { user -> Future<[User]> in\n      Future.traverse(1...user.id + 1, atMost: 4) { id in api.user(id * 2 + 1) }\n    }",
    ".map { (users: [User]) -> [User] in users.filter { $0.id > 1 } }", ".map { users in users[0] }"),
  Chain(
    "`zip` inside closures",
    ".onSuccess { user in Future.zip(api.user(user.id + 1), api.posts(of: user)) }",
    ".map { user, posts in User(id: posts.count + 1, name: user.name + \"x\") }"),
  Chain(
    "`zip` and its tuple",
    ".onSuccess { user in Future.zip(api.user(user.id), api.user(2)) }", ".map { a, b in a.id + b.id }",
    ".map { User(id: $0) }"),
  Chain(
    "`flatMap` over values with operators",
    ".flatMap { api.posts(of: $0) }", ".map { $0.map { $0.id * 2 }.reduce(0, +) }", ".flatMap { api.user($0) }"),
  Chain(
    "several statements, result type written",
    ".onSuccess { user -> Future<[Post]> in\n      let next = User(id: user.id + 1)\n      return api.posts(of: next)\n    }",
    ".map { posts -> Int in\n      let titles = posts.map { $0.title + \"!\" }\n      return titles.count * 2 + 1\n    }",
    ".onSuccess { id in api.user(id + 1) }"),
  Chain(
    "guards that throw",
    ".onSuccess { user in\n      guard user.id > 0 else { throw Missing() }\n      return api.posts(of: user)\n    }",
    ".map { posts in posts.count + 1 }",
    ".onSuccess { id in\n      guard id < 100 else { throw Missing() }\n      return api.user(id * 2)\n    }"),
  Chain(
    "main-actor closures",
    ".map(on: .main) { user in screen.shows(user) + 1 }", ".onSuccess(on: .main) { id in screen.next(after: id * 2) }",
    ".recover(on: .main) { _ in User() }", ".ensure(on: .main) { report(\"shown\") }"),
  Chain(
    "loads with decoding",
    ".onSuccess { user in api.http.get(\"users/\\(user.id + 1)/posts\", query: [(\"page\", \"2\")], as: [Post].self) }",
    ".map { posts -> Int in posts.count + 1 }",
    ".onSuccess { id in api.http.load { try HTTPRequest(.get, to: \"users/\\(id)\") }.validated().decoded(as: User.self) }",
    ".onSuccess { user in api.http.post(\"users\", json: user, as: User.self) }"),
  Chain(
    "recovery, time and clean-up",
    ".recover { _ in User() }", ".recoverWith { _ in api.user(2) }", ".timeout(after: .seconds(5))",
    ".onFailure { report(\"\\($0)\") }", ".onCancel { report($0.message) }", ".mapError { $0 }",
    ".ensure { report(\"done\") }"),
  Chain(
    "outcomes and completions",
    ".onComplete { outcome in Completion(outcome) }",
    ".onSuccess { user in user.id > 1 ? .succeeded(user) : .failed(Missing()) }",
    ".onComplete { outcome in .completeUsing(outcome.future) }", ".onSuccess { user in .succeeded(user) }"),
  Chain(
    "`onSuccess` and `reduce`", sizes: [9, 12, 24],
    ".onSuccess { api.posts(of: $0) }", ".map { $0.map { $0.likes }.reduce(0, +) }", ".onSuccess { api.user($0) }"),
  Chain(
    "`onSuccess` with operators, literals and ternaries", sizes: [9, 12, 24],
    ".onSuccess { api.posts(by: $0.id * 2 + 1) }", ".onSuccess { api.user($0.map { $0.likes }.reduce(0, +) * 2) }",
    ".onSuccess { $0.id > 10 ? api.user($0.id - 10) : .failed(Missing()) }"),
  Chain(
    "`onSuccess` with interpolations", sizes: [9, 12, 24],
    ".onSuccess { api.user(named: \"\\($0.name) \\($0.id + 1)\") }", ".onSuccess { .succeeded(User(id: $0.id + 1)) }",
    ".onSuccess { $0.id > 1 ? api.user(named: \"no \\($0.id)\") : api.user($0.id * 3) }"),
  Chain(
    "`onComplete` and `onSuccess` with operators", sizes: [9, 12, 24],
    ".onSuccess { api.posts(by: $0.id + 1) }",
    ".onComplete { outcome -> Completion<Int> in .success(try outcome.get().count * 2 + 1) }",
    ".onSuccess { api.user($0 > 1 ? $0 - 1 : $0) }"),
  Chain(
    "async bodies",
    ".asyncMap { user in try await api.renamed(user) }", ".asyncRecover { _ in try await api.renamed(User()) }",
    ".asyncOnComplete { outcome in try outcome.get() }", ".asyncMap(on: .main) { user in screen.shows(user) + 1 }",
    ".map { User(id: $0 + 1) }"),
  Chain(
    "everyday, fourteen links",
    ".onSuccess { user in api.http.load { try HTTPRequest(.get, to: \"users/\\(user.id)/posts\") } }", ".validated()",
    ".decoded(as: [Post].self)", ".map { posts in posts.filter { $0.id > 0 } }",
    ".onSuccess { posts in Future.traverse(posts, atMost: 4) { post in api.comments(on: post) } }",
    ".map { $0.flatMap { $0 } }", ".recover { _ in [] }",
    ".onSuccess { comments in Future.zip(api.user(comments.count + 1), api.user(2)) }",
    ".map { a, b in User(id: a.id + b.id, name: a.name + b.name) }", ".timeout(after: .seconds(5))",
    ".onFailure { report(\"\\($0)\") }", ".recoverWith { _ in api.user(1) }", ".onComplete { Completion($0) }",
    ".ensure { report(\"done\") }"),
]

let clients = [
  (name: "Swift 6", flags: []),
  (name: "main actor", flags: ["-default-isolation", "MainActor"]),
  (name: "nonsending", flags: ["-enable-upcoming-feature", "NonisolatedNonsendingByDefault"]),
]

// MARK: - Measuring

struct Failed: Error, CustomStringConvertible { let description: String }

/// Runs a command and returns its output.
func output(of command: [String]) throws -> String {
  let (process, pipe) = (Process(), Pipe())
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = command
  process.standardOutput = pipe
  process.standardError = pipe
  try process.run()
  let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
  process.waitUntilExit()
  let text = String(decoding: data, as: UTF8.self)
  guard process.terminationStatus == 0 else {
    let errors = text.split(separator: "\n").filter { $0.contains("error:") && !$0.hasPrefix(" ") }
    throw Failed(description: command.joined(separator: " ") + "\n" + errors.joined(separator: "\n"))
  }
  return text
}

/// Returns the milliseconds of each expression that took at least one, by file and line.
func expressions(_ files: [String], _ flags: [String]) throws -> [(file: String, line: Int, milliseconds: Int)] {
  let text = try output(
    of: ["swiftc", "-typecheck", "-swift-version", "6", "-Xfrontend", "-warn-long-expression-type-checking=1"] + flags
      + files)
  return text.split(separator: "\n").compactMap { row in
    guard let took = row.range(of: ": warning: expression took ") else { return nil }
    let place = row[..<took.lowerBound].split(separator: ":")
    guard place.count == 3, let line = Int(place[1]) else { return nil }
    return (String(place[0]), line, Int(row[took.upperBound...].prefix { $0.isNumber }) ?? 0)
  }
}

/// Returns the chains that exceed a limit. The sizes of a chain follow each other, the smallest first.
func tooSlow(_ places: [(chain: Int, size: Int)], _ times: [Int]) -> [String] {
  places.indices.flatMap { index -> [String] in
    let (name, size, time) = (chains[places[index].chain].name, places[index].size, times[index])
    if time > (size <= 28 ? 150 : 1000) { return ["\(name), \(size) links: \(time) ms"] }
    guard index > 0, places[index - 1].chain == places[index].chain else { return [] }
    // Times under ten milliseconds are counted as ten, because they are rounded and noisy.
    let (before, shorter) = (times[index - 1], places[index - 1].size)
    return time > 6 * max(before, 10) ? ["\(name), \(size) links: \(time) ms; \(shorter) links: \(before) ms"] : []
  }
}

func swiftFiles(in folders: [String]) throws -> [String] {
  try folders.flatMap { folder in
    try FileManager.default.subpathsOfDirectory(atPath: folder).sorted().map { folder + "/" + $0 }
  }.filter { $0.hasSuffix(".swift") }
}

var faults: [String] = []

func measure() throws {
  let folder = try output(of: ["swift", "build", "--show-bin-path"]).trimmingCharacters(in: .whitespacesAndNewlines)
  let modules = [folder + "/Modules", "Sources/CCurl/include", "Sources/CCodings/include"].flatMap { ["-I", $0] }

  // All chains are in one file, because loading the library takes longer than any of them.
  var code = try String(contentsOfFile: "Benchmarks/CompileTime/Fixtures.swift", encoding: .utf8)
  var places: [(chain: Int, size: Int, lines: Range<Int>)] = []
  for (number, chain) in chains.enumerated() {
    for size in chain.sizes {
      let start = code.utf8.count { $0 == 0x0A }
      code += chain.code(size, named: "chain\(number)of\(size)")
      places.append((number, size, start + 1..<code.utf8.count { $0 == 0x0A } + 1))
    }
  }
  let source = NSTemporaryDirectory() + "chains-\(ProcessInfo.processInfo.processIdentifier).swift"
  try code.write(toFile: source, atomically: true, encoding: .utf8)
  defer { try? FileManager.default.removeItem(atPath: source) }

  var best: [[Int]] = []
  for client in clients {
    var times = Array(repeating: Int.max, count: places.count)
    var slow: [String] = []
    for round in 1...9 where round == 1 || !slow.isEmpty {
      let all = try expressions([source], modules + client.flags)
      for (index, place) in places.enumerated() {
        // A closure of several statements is reported separately. Its time is part of its chain.
        let sum = all.filter { place.lines.contains($0.line) }.reduce(0) { $0 + $1.milliseconds }
        times[index] = min(times[index], sum)
      }
      slow = tooSlow(places.map { ($0.chain, $0.size) }, times).map { "\($0), \(client.name)" }
    }
    faults += slow
    best.append(times)
  }

  print("| chain | links | \(clients.map { $0.name + ", ms" }.joined(separator: " | ")) |")
  print("| --- | --- |" + clients.map { _ in " --- |" }.joined())
  for (index, place) in places.enumerated() {
    print("| \(chains[place.chain].name) | \(place.size) | \(best.map { "\($0[index])" }.joined(separator: " | ")) |")
  }

  // Fails if the compiler changed the words of its warnings. Otherwise nothing would be measured.
  if best.allSatisfy({ $0.allSatisfy { $0 == 0 } }) { faults.append("no expression was measured") }

  let package = try String(contentsOfFile: ".build/debug.yaml", encoding: .utf8)
  let name = package.components(separatedBy: "\"-package-name\",\"").dropFirst().first?.prefix { $0 != "\"" } ?? ""
  let written = [
    (
      "README and guides of FutureTree", ["Tests/FutureTreeTests/Guide", "Tests/FutureTreeTests/Support"],
      "FutureTreeTests"
    ),
    (
      "README and guides of FutureTreeHTTP", ["Tests/FutureTreeHTTPTests/Guide", "Tests/FutureTreeHTTPTests/Support"],
      "FutureTreeHTTPTests"
    ),
    ("QuickStart", ["Examples/QuickStart"], "QuickStart"), ("APIClient", ["Examples/APIClient"], "APIClient"),
    ("SharedDownloads", ["Examples/SharedDownloads"], "SharedDownloads"), ("NotHTTP", ["Examples/NotHTTP"], "NotHTTP"),
    ("TreeInspector", ["Examples/TreeInspector"], "TreeInspector"), ("Build", ["Examples/Build"], "Build"),
    ("LiveFeed", ["Examples/LiveFeed"], "LiveFeed"),
  ]
  print("\n| code | slowest expression, ms |\n| --- | --- |")
  for (title, folders, module) in written {
    let flags = modules + ["-module-name", module, "-package-name", String(name), "-parse-as-library"]
    var slowest = (milliseconds: Int.max, place: "")
    for round in 1...9 where round == 1 || slowest.milliseconds > 150 {
      let found = try expressions(try swiftFiles(in: folders), flags).max { $0.milliseconds < $1.milliseconds }
      let place = found.map { "\($0.file):\($0.line)" } ?? ""
      if (found?.milliseconds ?? 0) < slowest.milliseconds { slowest = (found?.milliseconds ?? 0, place) }
    }
    print("| \(title) | \(slowest.milliseconds) \(slowest.place) |")
    if slowest.milliseconds > 150 { faults.append("\(slowest.place): \(slowest.milliseconds) ms") }
  }
}

do {
  try measure()
} catch {
  faults.append("\(error)")
}
for fault in faults { FileHandle.standardError.write(Data("TOO SLOW OR WRONG: \(fault)\n".utf8)) }
exit(faults.isEmpty ? 0 : 1)
