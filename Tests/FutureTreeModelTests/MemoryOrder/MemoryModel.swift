/// A model of C11 memory order that runs small programs in every way that the model allows.
///
/// Each location has its messages in modification order. A thread has a *view*: the oldest message of each location that it
/// may still read. A message of a releasing write carries the view of its writer. An acquiring read joins that view into
/// the view of the reader. A read-modify-write reads the last message and passes its view on. An access that is not atomic
/// is a race unless the view of the thread includes all conflicting accesses.
///
/// The model omits two freedoms of C11 that cannot occur in the programs of the tests. A thread never writes before one of
/// its earlier reads is done. A write never precedes an earlier write in modification order. The model has no sequentially
/// consistent order, because the library uses none.
struct MemoryModel {
  enum Order {
    case relaxed, acquiring, releasing
  }

  typealias Location = Int
  typealias Register = Int

  enum Step {
    /// An access that is not atomic.
    case read(Location, into: Register)
    case write(Location, Int)
    case load(Location, Order, into: Register)
    case store(Location, Int, Order)
    /// A read-modify-write. The register receives the previous value.
    case exchange(Location, Int, Order, into: Register)
    case add(Location, Int, Order, into: Register)
    case compareExchange(Location, from: Int, to: Int, Order, into: Register)
    case fence(Order)
    /// A jump by the given distance.
    case jump(Int, ifNot: Int, in: Register)
    case go(Int)
    /// A mutex of the platform and its condition.
    case enter
    case leave
    /// Leaves the mutex, sleeps until a wake, and enters the mutex again. Requires the mutex.
    case sleep
    case wakeAll
  }

  /// The ways in which the programs can end.
  enum End: Hashable {
    case done([[Int]])
    case race(Location)
    /// No thread can continue, and some have steps left.
    case hang
  }

  let programs: [[Step]]

  /// - Parameter programs: The steps of each thread.
  init(_ programs: [[Step]]) {
    self.programs = programs
  }

  /// Returns the ends that no program should have.
  func faults() -> Set<End> {
    ends().filter { if case .done = $0 { false } else { true } }
  }

  /// Returns all ways in which the programs can end. `done` has the registers of each thread in order.
  func ends() -> Set<End> {
    var ends: Set<End> = []
    var seen: Set<Machine> = []
    var pending: [Machine] = []
    /// Adds a state. A thread takes its own steps at once, because no other thread observes their time.
    func add(_ machine: Machine, after numbers: Range<Int>) {
      var machine = machine
      for number in numbers {
        guard let location = machine.runOwnSteps(of: number, in: programs[number]) else { continue }
        ends.insert(.race(location))
        return
      }
      if seen.insert(machine).inserted { pending.append(machine) }
    }
    add(Machine(threads: programs.count), after: programs.indices)
    while let machine = pending.popLast() {
      precondition(seen.count < 500_000, "The programs have too many states.")
      var canGoOn = false
      for (number, program) in programs.enumerated() where machine.threads[number].next < program.count {
        for next in machine.successors(of: number, taking: program[machine.threads[number].next]) {
          canGoOn = true
          add(next, after: number..<number + 1)
        }
      }
      if canGoOn { continue }
      let isDone = zip(machine.threads, programs).allSatisfy { $0.next == $1.count }
      ends.insert(isDone ? .done(machine.threads.map(\.registers)) : .hang)
    }
    return ends
  }
}

/// The view of a thread: the oldest readable message of each location, and then the reads of each thread.
private typealias View = [Int]

extension View {
  fileprivate mutating func join(_ other: View) {
    for index in indices { self[index] = Swift.max(self[index], other[index]) }
  }
}

/// One state of all threads and of the memory.
private struct Machine: Hashable {
  struct Message: Hashable {
    let value: Int
    let view: View
  }

  struct Thread: Hashable {
    var next = 0
    var registers = [0, 0, 0, 0]
    var view: View
    /// The view that an acquiring fence adds, and the view at the last releasing fence.
    var read: View
    var fenced: View
    var sleep = Sleep.none
  }

  enum Sleep {
    case none, asleep, woken
  }

  static let locations = 5

  var messages: [[Message]]
  var threads: [Thread]
  var holder: Int?
  var viewOfMutex: View

  init(threads count: Int) {
    let view = View(repeating: 0, count: Machine.locations * (1 + count))
    messages = Array(repeating: [Message(value: 0, view: view)], count: Machine.locations)
    threads = Array(repeating: Thread(view: view, read: view, fenced: view), count: count)
    viewOfMutex = view
  }

  private func changed(by number: Int, _ change: (inout Machine) -> Void) -> Machine {
    var machine = self
    machine.threads[number].next += 1
    change(&machine)
    return machine
  }

  /// Returns the states after a step. The result is empty if the thread must wait.
  func successors(of number: Int, taking step: MemoryModel.Step) -> [Machine] {
    let thread = threads[number]
    switch step {
    case .load(let location, let order, let register):
      return load(location, order, by: number, into: register)
    case .store(let location, let value, let order):
      return [changed(by: number) { $0.append(value, to: location, order, by: number) }]
    case .exchange(let location, let value, let order, let register):
      return [modify(location, order, by: number, into: register) { _ in value }]
    case .add(let location, let summand, let order, let register):
      return [modify(location, order, by: number, into: register) { $0 + summand }]
    case .compareExchange(let location, let from, let to, let order, let register):
      let failures = load(location, .relaxed, by: number, into: register, unless: from)
      guard messages[location].last!.value == from else { return failures }
      return failures + [modify(location, order, by: number, into: register) { _ in to }]
    case .fence(let order):
      return [
        changed(by: number) {
          if order == .acquiring { $0.threads[number].view.join(thread.read) }
          if order == .releasing { $0.threads[number].fenced = thread.view }
        }
      ]
    case .enter:
      return holder == nil ? [changed(by: number) { $0.enter(number) }] : []
    case .leave:
      return [changed(by: number) { $0.leave(number) }]
    case .sleep:
      return sleep(number)
    case .wakeAll:
      return [
        changed(by: number) {
          for other in threads.indices where threads[other].sleep == .asleep { $0.threads[other].sleep = .woken }
        }
      ]
    case .read, .write, .jump, .go:
      preconditionFailure("\(#function): own steps are done already")
    }
  }

  // MARK: - Atomic accesses

  private func load(
    _ location: Int, _ order: MemoryModel.Order, by number: Int, into register: Int, unless value: Int? = nil
  ) -> [Machine] {
    (threads[number].view[location]..<messages[location].count).filter { messages[location][$0].value != value }.map {
      index in
      changed(by: number) { $0.read(index, of: location, order, by: number, into: register) }
    }
  }

  private func modify(
    _ location: Int, _ order: MemoryModel.Order, by number: Int, into register: Int, _ change: (Int) -> Int
  ) -> Machine {
    let last = messages[location].count - 1
    return changed(by: number) {
      $0.read(last, of: location, order, by: number, into: register)
      $0.append(change(messages[location][last].value), to: location, order, by: number, passesOn: true)
    }
  }

  private mutating func read(
    _ index: Int, of location: Int, _ order: MemoryModel.Order, by number: Int, into register: Int
  ) {
    let message = messages[location][index]
    threads[number].registers[register] = message.value
    threads[number].view[location] = index
    threads[number].read.join(message.view)
    if order == .acquiring { threads[number].view.join(message.view) }
  }

  private mutating func append(
    _ value: Int, to location: Int, _ order: MemoryModel.Order, by number: Int, passesOn: Bool = false
  ) {
    threads[number].view[location] = messages[location].count
    var view = order == .releasing ? threads[number].view : threads[number].fenced
    view[location] = messages[location].count
    if passesOn { view.join(messages[location].last!.view) }
    messages[location].append(Message(value: value, view: view))
  }

  // MARK: - The mutex

  private mutating func enter(_ number: Int) {
    holder = number
    threads[number].view.join(viewOfMutex)
  }

  private mutating func leave(_ number: Int) {
    holder = nil
    viewOfMutex = threads[number].view
  }

  private func sleep(_ number: Int) -> [Machine] {
    switch threads[number].sleep {
    case .none:
      var machine = self
      machine.leave(number)
      machine.threads[number].sleep = .asleep
      return [machine]
    case .woken where holder == nil:
      return [
        changed(by: number) {
          $0.threads[number].sleep = .none
          $0.enter(number)
        }
      ]
    case .asleep, .woken: return []
    }
  }

  // MARK: - Steps whose time no other thread observes

  /// Performs jumps and accesses that are not atomic. Returns the location of a race, at which the thread stops.
  mutating func runOwnSteps(of number: Int, in program: [MemoryModel.Step]) -> Int? {
    while threads[number].next < program.count {
      switch program[threads[number].next] {
      case .jump(let distance, let value, let register):
        threads[number].next += threads[number].registers[register] == value ? 1 : distance
      case .go(let distance):
        threads[number].next += distance
      case .read(let location, let register):
        guard knowsLastWrite(of: location, number) else { return location }
        threads[number].view[Machine.locations * (1 + number) + location] += 1
        threads[number].registers[register] = messages[location].last!.value
        threads[number].next += 1
      case .write(let location, let value):
        guard knowsLastWrite(of: location, number), knowsReads(of: location, number) else { return location }
        append(value, to: location, .relaxed, by: number)
        threads[number].next += 1
      default: return nil
      }
    }
    return nil
  }

  private func knowsLastWrite(of location: Int, _ number: Int) -> Bool {
    threads[number].view[location] == messages[location].count - 1
  }

  /// A thread knows its own reads, so its own entry counts them.
  private func knowsReads(of location: Int, _ number: Int) -> Bool {
    threads.indices.allSatisfy { reader in
      let entry = Machine.locations * (1 + reader) + location
      return threads[number].view[entry] == threads[reader].view[entry]
    }
  }
}
