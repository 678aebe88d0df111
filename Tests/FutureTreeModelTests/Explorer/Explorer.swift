#if FUTURETREE_EXPLORER && canImport(Glibc)
  @testable import FutureTree

  /// An explorer that runs threads one at a time, and decides at every scheduling point which of them continues.
  ///
  /// The threads are fibers on the system thread that runs the test, so that a schedule costs microseconds. Each fiber has
  /// its own trampoline and its own mark of a held lock.
  final class Explorer: ThreadExplorer {
    /// The points at which threads can be interrupted.
    enum Points: Equatable {
      /// Every point, with a maximum number of preemptions. A thread that ends or waits is not interrupted.
      case all(preemptions: Int)
      /// Every point, any number of times. If `mergesSame` is set, schedules that differ only in the order of steps at
      /// different places are the same.
      case everywhere(mergesSame: Bool)
      /// The points between operations, and before callbacks. These give the sequential orders.
      case betweenOperations
    }

    typealias Operation = () -> Void

    private let main = Fiber()
    private var fibers: [Fiber] = []
    private var states: [ThreadState] = []
    private var stateOfTest = ThreadState.new
    private var threads: [[Operation]] = []
    private var running: Int?
    private var hasEnded: [Bool] = []
    private var waitsFor: [ObjectIdentifier?] = []
    /// The place of the next step of each thread. `nil` if it is not known.
    private var places: [ObjectIdentifier?] = []
    private var options: [Int] = []
    private var preemptions = 0
    private var points = Points.betweenOperations
    var tree = ScheduleTree()
    var interruptsLocks = false

    private(set) var nodeCount = 0
    /// The number of points reached in this schedule.
    private(set) var pointCount = 0
    /// The problems found in this schedule.
    private(set) var problems: [String] = []

    /// Runs one schedule. Returns `false` if the schedule does not end. Then this explorer cannot be used again.
    func run(_ threads: [[Operation]], points: Points) -> Bool {
      while fibers.count < threads.count { addFiber() }
      self.threads = threads
      self.points = points
      hasEnded = threads.map { _ in false }
      waitsFor = threads.map { _ in nil }
      places = waitsFor
      (preemptions, pointCount, problems) = (0, 0, [])
      goOn()
      self.threads = []
      return !hasEnded.contains(false)
    }

    private func addFiber() {
      let index = fibers.count
      states.append(.new)
      fibers.append(
        Fiber { [unowned self] in
          while true {
            self.perform(index)
            self.hasEnded[index] = true
            self.goOn()
          }
        })
    }

    private func perform(_ index: Int) {
      for position in threads[index].indices {
        if position > 0 {
          places[index] = nil
          goOn()
        }
        let operation = threads[index][position]
        operation()
      }
      threads[index] = []
    }

    /// Continues a thread: the running thread if it can run, or another one. Continues the test if no thread can run.
    private func goOn() {
      let current = running
      let canStay = current.map(canRun) ?? false
      var others = 0
      options.removeAll(keepingCapacity: true)
      if let current, canStay { options.append(current) }
      for thread in hasEnded.indices where thread != current && canRun(thread) {
        others += 1
        if !canStay || mayPreempt { options.append(thread) }
      }
      guard let first = options.first else {
        if hasEnded.contains(false) { problems.append("deadlock: every remaining thread waits") }
        return go(to: nil)
      }
      let hasChoice = others > (canStay ? 0 : 1) || mergesSame
      let next = hasChoice ? tree.choose(from: options, places: mergesSame ? places : []) : first
      if canStay, next != current { preemptions += 1 }
      go(to: next)
    }

    private var mayPreempt: Bool {
      if case .all(let bound) = points { preemptions < bound } else { true }
    }

    private var mergesSame: Bool { points == .everywhere(mergesSame: true) }

    private func canRun(_ thread: Int) -> Bool { !hasEnded[thread] && waitsFor[thread] == nil }

    private func go(to next: Int?) {
      let current = running
      guard next != current else { return }
      running = next
      let state = ThreadState.exchange(with: next.map { states[$0] } ?? stateOfTest)
      if let current { states[current] = state } else { stateOfTest = state }
      fiber(current).switch(to: fiber(next))
    }

    private func fiber(_ thread: Int?) -> Fiber { thread.map { fibers[$0] } ?? main }

    // MARK: - Reports of the library

    func reachedPoint(at place: ObjectIdentifier) {
      reached(place, isCallback: false)
    }

    /// Reports that a callback is about to run. Other threads may run then in a sequential order too, because no future waits
    /// for a callback.
    func reachedCallback(at place: ObjectIdentifier) {
      reached(place, isCallback: true)
    }

    private func reached(_ place: ObjectIdentifier, isCallback: Bool) {
      guard let running else { return }
      places[running] = place
      pointCount += 1
      if pointCount > 10_000 {
        problems.append("no progress after 10,000 points")
        return go(to: nil)
      }
      if isCallback || points != .betweenOperations { goOn() }
    }

    func wait(for place: ObjectIdentifier) {
      guard let running else { return problems.append("the test itself would block") }
      waitsFor[running] = place
      places[running] = nil
      goOn()
    }

    func left(_ place: ObjectIdentifier) {
      for thread in waitsFor.indices where waitsFor[thread] == place { waitsFor[thread] = nil }
    }

    func countNodes(_ change: Int) { nodeCount += change }
    func broke(_ rule: String) { problems.append(rule) }
  }
#endif
