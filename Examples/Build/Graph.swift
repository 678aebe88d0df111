import FutureTree

/// One step of a build, such as the compilation of a file.
struct Step: Sendable {
  let name: String
  /// The steps that must succeed before.
  let inputs: [String]
  let duration: Duration
  let priority: TaskPriority
}

/// The steps of a program of 20 modules: eight files, a library and a test for each module.
struct Graph: Sendable {
  let steps: [String: Step]
  /// The names in the order in which the graph was written.
  let names: [String]
  static let modules = 1...20

  init() {
    var all: [Step] = []
    for module in Graph.modules {
      let files = (1...8).map { "m\(module)/file\($0)" }
      for (index, file) in files.enumerated() {
        all.append(Step(name: file, inputs: [], duration: .milliseconds(200 + 50 * index), priority: .medium))
      }
      // A library needs those of the modules below it. Others wait for it, so it overtakes the files.
      let below = module == 1 ? [] : Set([module / 2, module / 3]).filter { $0 > 0 }.sorted()
      all.append(
        Step(
          name: "m\(module)/library", inputs: files + below.map { "m\($0)/library" }, duration: .milliseconds(300),
          priority: .high))
      all.append(
        Step(name: "m\(module)/test", inputs: ["m\(module)/library"], duration: .seconds(1), priority: .low))
    }
    names = all.map(\.name)
    steps = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
  }
}
