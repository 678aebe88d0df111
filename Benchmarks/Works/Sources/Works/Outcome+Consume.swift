import FutureTree

/// Consumes the value of an outcome.
@inline(__always)
func consume(_ outcome: Outcome<Int>) {
  if case .success(let value) = outcome { consume(value) }
}
