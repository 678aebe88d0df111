import BlackHole

/// Something that can be measured.
public struct Work: Sendable {
  /// What is counted, such as "link".
  public let unit: String
  /// How many of them one repetition has.
  public let operations: Int
  /// Does it so many times, and returns the nanoseconds of what counts: preparations do not.
  public let run: @Sendable (_ repetitions: Int) -> Double

  public init(_ unit: String, operations: Int, run: @escaping @Sendable (_ repetitions: Int) -> Double) {
    self.unit = unit
    self.operations = operations
    self.run = run
  }

  /// A work whose every repetition counts as a whole.
  public init(_ unit: String, operations: Int, repeating body: @escaping @Sendable () -> Void) {
    self.init(unit, operations: operations) { repetitions in
      timed {
        for _ in 0..<repetitions { body() }
      }
    }
  }

  /// A work whose repetitions are prepared before they count.
  public init<Prepared>(
    _ unit: String, operations: Int, preparing prepare: @escaping @Sendable () -> Prepared,
    repeating body: @escaping @Sendable (Prepared) -> Void
  ) {
    self.init(unit, operations: operations) { repetitions in
      var total = 0.0
      for _ in 0..<repetitions {
        let prepared = prepare()
        total += timed { body(prepared) }
      }
      return total
    }
  }
}

/// The nanoseconds that a body takes.
///
/// Everything that counts runs inside: callgrind is told to collect in this function, by its name.
@inline(never)
public func timed(_ body: () -> Void) -> Double {
  let start = ContinuousClock.now
  body()
  return (ContinuousClock.now - start).nanoseconds
}

extension Duration {
  public var nanoseconds: Double {
    Double(components.seconds) * 1e9 + Double(components.attoseconds) / 1e9
  }
}

/// Takes a result, so that the optimiser must leave the work that led to it.
@inlinable public func consume(_ value: Int) {
  blackHoleConsume(Int64(value))
}

/// Hands an object to code that the optimiser does not see, and back: it cannot stay on the stack.
@inlinable public func passed<Object: AnyObject>(_ object: Object) -> Object {
  let pointer = Unmanaged.passRetained(object).toOpaque()
  return Unmanaged<Object>.fromOpaque(blackHolePass(pointer)).takeRetainedValue()
}
