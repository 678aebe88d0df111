import BlackHole

/// A measurable work.
public struct Work: Sendable {
  /// The counted unit, such as "link".
  public let unit: String
  /// The number of units in one repetition.
  public let operations: Int
  /// Runs the repetitions and returns the measured nanoseconds, without preparations.
  public let run: @Sendable (_ repetitions: Int) -> Double

  public init(_ unit: String, operations: Int, run: @escaping @Sendable (_ repetitions: Int) -> Double) {
    self.unit = unit
    self.operations = operations
    self.run = run
  }

  /// Creates a work whose repetitions are measured as a whole.
  public init(_ unit: String, operations: Int, repeating body: @escaping @Sendable () -> Void) {
    self.init(unit, operations: operations) { repetitions in
      timed {
        for _ in 0..<repetitions { body() }
      }
    }
  }

  /// Creates a work whose repetitions are prepared before they are measured.
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

/// Returns the nanoseconds that a body takes.
///
/// All measured code runs inside this function: callgrind collects in it, by its name.
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

/// Consumes a result, so that the optimizer must keep the work that produced it.
@inlinable public func consume(_ value: Int) {
  blackHoleConsume(Int64(value))
}

/// Passes an object through code that the optimizer does not see, so that the object cannot stay on the stack.
@inlinable public func passed<Object: AnyObject>(_ object: Object) -> Object {
  let pointer = Unmanaged.passRetained(object).toOpaque()
  return Unmanaged<Object>.fromOpaque(blackHolePass(pointer)).takeRetainedValue()
}
