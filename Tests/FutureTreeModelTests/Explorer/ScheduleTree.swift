/// All schedules of a scenario, as a tree of choices, one path after another, depth first. Pure.
///
/// A choice is made wherever more than one thread could continue. Where the places of the next steps are known, paths that
/// differ only in the order of steps at different places are taken once ("sleep sets"). After all paths that begin with a
/// step of one thread, no path begins with steps at other places and then that step.
struct ScheduleTree {
  private typealias Threads = Set8

  private struct Choice {
    /// The thread that continues.
    var thread: Int
    let options: Threads
    /// The threads that continued here in earlier paths, and the threads whose next step leads only to known paths.
    var done: Threads
    let places: [ObjectIdentifier?]

    /// The threads whose next step leads only to known paths after this choice.
    var asleep: Threads {
      done.filter { other in
        guard other < places.count, let place = places[thread], let otherPlace = places[other] else { return false }
        return place != otherPlace
      }
    }
  }

  private var choices: [Choice] = []
  private var depth = 0
  /// The threads of a replayed schedule, in order.
  private let replayed: [Int]?
  /// Whether this path leads only to known paths.
  private(set) var isRedundant = false
  /// Whether an earlier path did not lead to the same choice again. Then the scenario depends on more than the schedule, and
  /// its schedules cannot be enumerated.
  private(set) var hasDiverged = false

  init(replaying schedule: [Int]? = nil) {
    replayed = schedule
  }

  /// The threads that continued, wherever more than one could.
  var schedule: [Int] { choices[..<depth].filter { $0.options.count > 1 }.map(\.thread) }

  /// Returns the thread that continues.
  ///
  /// - Parameters:
  ///   - options: The threads that can continue. The first needs no preemption.
  ///   - places: The place of the next step of each thread. Empty if all orders are different. With places, the tree
  ///     also needs choices with a single option: the path may turn out to be redundant.
  mutating func choose(from options: [Int], places: [ObjectIdentifier?] = []) -> Int {
    defer { depth += 1 }
    if depth < choices.count {
      if choices[depth].options != Threads(options) { hasDiverged = true }
      return hasDiverged ? options[0] : choices[depth].thread
    }
    let asleep = choices.last?.asleep ?? Threads()
    var next = options.first { !asleep.contains($0) }
    if let replayed, depth < replayed.count, options.contains(replayed[depth]) { next = replayed[depth] }
    if next == nil { isRedundant = true }
    // A redundant path has no choices.
    let done = isRedundant ? Threads(options) : asleep
    choices.append(Choice(thread: next ?? options[0], options: Threads(options), done: done, places: places))
    return choices[depth].thread
  }

  /// Moves to the next path. Returns `false` if there is none, or if a schedule was replayed.
  mutating func advance() -> Bool {
    if depth < choices.count { hasDiverged = true }
    depth = 0
    isRedundant = false
    guard replayed == nil, !hasDiverged else { return false }
    while var last = choices.popLast() {
      last.done.insert(last.thread)
      guard let next = last.options.first(where: { !last.done.contains($0) }) else { continue }
      last.thread = next
      choices.append(last)
      return true
    }
    return false
  }
}

/// A set of numbers from 0 to 7.
struct Set8: Equatable {
  private var bits: UInt8 = 0

  init(_ numbers: [Int] = []) {
    for number in numbers { insert(number) }
  }

  mutating func insert(_ number: Int) { bits |= 1 << UInt8(number) }
  var count: Int { bits.nonzeroBitCount }
  func contains(_ number: Int) -> Bool { bits & (1 << UInt8(number)) != 0 }
  func first(where predicate: (Int) -> Bool) -> Int? { (0..<8).first { contains($0) && predicate($0) } }

  func filter(_ isKept: (Int) -> Bool) -> Set8 {
    var kept = Set8()
    for number in 0..<8 where contains(number) && isKept(number) { kept.insert(number) }
    return kept
  }
}
