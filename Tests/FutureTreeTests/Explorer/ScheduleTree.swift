/// All schedules of a scenario, as the tree of the choices that are made in them: depth first, one path after another. Pure.
///
/// A choice is made wherever more than one thread could go on. Where the places of the next steps are known, paths that
/// differ only in the order of steps at different places are taken once ("sleep sets"): after the paths that begin with a
/// step of one thread, no other need begin with steps elsewhere and then that one.
struct ScheduleTree {
  private typealias Threads = Set8

  private struct Choice {
    /// The thread that goes on.
    var thread: Int
    let options: Threads
    /// Those that went on here in paths before, and those whose next step leads only to what was seen before.
    var done: Threads
    let places: [ObjectIdentifier?]

    /// Those whose next step leads to nothing new after this choice.
    var asleep: Threads {
      done.filter { other in
        guard other < places.count, let place = places[thread], let otherPlace = places[other] else { return false }
        return place != otherPlace
      }
    }
  }

  private var choices: [Choice] = []
  private var depth = 0
  /// The threads that go on, where a schedule is replayed.
  private let replayed: [Int]?
  /// This path leads to nothing new.
  private(set) var isRedundant = false
  /// A path that was taken before did not lead to the same choice: the scenario depends on more than the schedule, so that
  /// its schedules cannot be enumerated.
  private(set) var hasDiverged = false

  init(replaying schedule: [Int]? = nil) {
    replayed = schedule
  }

  /// The threads that went on, wherever more than one could.
  var schedule: [Int] { choices[..<depth].filter { $0.options.count > 1 }.map(\.thread) }

  /// Returns the thread that goes on.
  ///
  /// - Parameters:
  ///   - options: the first is the one that needs no preemption.
  ///   - places: where each thread would take its next step; empty if all orders are different. Where they are given, a
  ///     single option must be as well: the path may turn out to lead to nothing new.
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
    // On a redundant path there is nothing to choose.
    let done = isRedundant ? Threads(options) : asleep
    choices.append(Choice(thread: next ?? options[0], options: Threads(options), done: done, places: places))
    return choices[depth].thread
  }

  /// Goes to the next path. Returns false when there is none, or when a schedule was replayed.
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
  func first(where isWanted: (Int) -> Bool) -> Int? { (0..<8).first { contains($0) && isWanted($0) } }

  func filter(_ isKept: (Int) -> Bool) -> Set8 {
    var kept = Set8()
    for number in 0..<8 where contains(number) && isKept(number) { kept.insert(number) }
    return kept
  }
}
