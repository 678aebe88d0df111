import Dispatch
import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The measures of one lock. Each function makes its own lock and returns the figure of one round.
enum Measures {
  /// Nanoseconds of an uncontended lock and unlock.
  static func uncontended<Lock: Candidate>(_: Lock.Type) -> Double {
    let lock = Lock()
    let data = Guarded()
    let count = 1_000_000
    return time { for _ in 0..<count { data.enter(lock) } } / Double(count)
  }

  /// Returns the sections per microsecond of all threads together. Outside the lock, each thread does about twice the work of a
  /// section.
  static func throughput<Lock: Candidate>(of threads: Int) -> (Lock.Type) -> Double {
    { _ in
      let lock = Lock()
      let data = Guarded()
      let started = now()
      let counts = run(threads) { _ in
        var count = 0.0
        while now() < started + 50_000_000 {
          for step in 0..<50 {
            data.enter(lock)
            spin(step & 7)
          }
          count += 50
        }
        return [count]
      }
      return counts.reduce(0, +) / Double(now() - started) * 1000
    }
  }

  /// Returns the microseconds of a lock and unlock that only the given share exceeds, with eight threads.
  static func wait<Lock: Candidate>(exceededBy share: Double) -> (Lock.Type) -> Double {
    { _ in waitOfEight(Lock.self, exceededBy: share) }
  }

  private static func waitOfEight<Lock: Candidate>(_: Lock.Type, exceededBy share: Double) -> Double {
    let lock = Lock()
    let data = Guarded()
    let started = now()
    let times = run(8) { _ in
      var times: [Double] = []
      times.reserveCapacity(1_000_000)
      while times.count < 1_000_000 {
        let before = now()
        if before > started + 100_000_000 { break }
        data.enter(lock)
        times.append(Double(now() - before))
        spin(8)
      }
      return times
    }
    return quantile(times, 1 - share) / 1000
  }

  /// Returns the microseconds from an unlock, by a holder that was off its processor for five milliseconds, until the waiting
  /// thread has the lock.
  static func handOver<Lock: Candidate>(_: Lock.Type) -> Double {
    let lock = Lock()
    let left = Moment()
    let isHeld = Atomic(false)
    let entered = run(2) { number in
      if number == 0 {
        lock.withLock {
          isHeld.store(true, ordering: .releasing)
          usleep(5_000)
          left.at = now()
        }
        return []
      }
      while !isHeld.load(ordering: .acquiring) { usleep(100) }
      var entered = 0.0
      lock.withLock { entered = Double(now()) }
      return [entered]
    }
    return (entered[0] - Double(left.at)) / 1000
  }

  /// Returns the longest wait, in microseconds, of two busy threads while a thread of the lowest priority uses the same lock.
  ///
  /// - Parameters:
  ///   - inside: The nanoseconds of a section of the low-priority thread.
  ///   - outside: The nanoseconds between its sections.
  static func lowPriorityHolder<Lock: Candidate>(inside: UInt64, outside: UInt64) -> (Lock.Type) -> Double {
    { _ in longestWait(Lock.self, inside: inside, outside: outside) }
  }

  private static func longestWait<Lock: Candidate>(_: Lock.Type, inside: UInt64, outside: UInt64) -> Double {
    let lock = Lock()
    let data = Guarded()
    let started = now()
    let waits = run(3) { number in
      if number == 0 { lowerPriority() }
      var waits: [Double] = []
      while now() < started + 100_000_000 {
        if number == 0 {
          lock.withLock { spin(until: now() + inside) }
          spin(until: now() + outside)
        } else {
          let before = now()
          data.enter(lock)
          waits.append(Double(now() - before))
          spin(until: now() + 50_000)
        }
      }
      return waits
    }
    return (waits.max() ?? 0) / 1000
  }
}

// MARK: - Helpers of the measures

/// Fields whose update takes about 20 instructions.
private final class Guarded: @unchecked Sendable {  // Because: the lock that is measured guards them.
  private var fields = (0, 0, 0, 0)

  @inline(__always)
  func enter(_ lock: some Candidate) {
    lock.withLock { change() }
  }

  @inline(__always)
  func change() {
    fields.0 &+= 1
    fields.1 ^= fields.0
    fields.2 &+= fields.1 &* 3
    fields.3 ^= fields.2
  }
}

private final class Moment: @unchecked Sendable {  // Because: the lock guards it.
  var at: UInt64 = 0
}

func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

private func time(_ body: () -> Void) -> Double {
  let start = now()
  body()
  return Double(now() - start)
}

@inline(never)
private func spin(_ steps: Int) {
  var number = steps
  for _ in 0..<steps { number = number &* 6_364_136_223_846_793_005 &+ 1 }
  withExtendedLifetime(number) {}
}

private func spin(until end: UInt64) {
  while now() < end {}
}

/// Runs a body on several system threads at once, and returns the figures of all.
func run(_ threads: Int, _ body: @escaping @Sendable (_ number: Int) -> [Double]) -> [Double] {
  final class Results: @unchecked Sendable {  // Because: each thread writes its own element.
    let places: UnsafeMutableBufferPointer<[Double]>
    init(_ count: Int) {
      places = .allocate(capacity: count)
      places.initialize(repeating: [])
    }
    deinit {
      places.deinitialize()
      places.deallocate()
    }
  }
  let results = Results(threads)
  let group = DispatchGroup()
  for number in 0..<threads {
    group.enter()
    Thread {
      results.places[number] = body(number)
      group.leave()
    }.start()
  }
  group.wait()
  return results.places.flatMap(\.self)
}

/// Gives this thread the lowest priority.
private func lowerPriority() {
  #if canImport(Darwin)
    pthread_set_qos_class_self_np(QOS_CLASS_BACKGROUND, 0)
  #else
    var parameters = sched_param()
    sched_setscheduler(0, 5, &parameters)  // SCHED_IDLE, a macro that glibc shows to GNU sources only.
  #endif
}

func quantile(_ figures: [Double], _ share: Double) -> Double {
  let sorted = figures.sorted()
  return sorted.isEmpty ? .nan : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
}
