import Testing

/// Records an issue, with both values, if a value is not the expected one.
///
/// ```swift
/// expectEqual(future.state, "pending")
/// ```
///
/// `#expect(value == expected)` says the same, and takes ten times as long to compile. The tests compare thousands of values.
package func expectEqual<Value: Equatable>(
  _ value: Value, _ expected: Value, _ comment: @autoclosure () -> Comment? = nil,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  guard let text = difference(between: value, and: expected, comment()) else { return }
  Issue.record(text, sourceLocation: sourceLocation)
}

/// Returns the text of the issue, or `nil` if the values are equal.
package func difference<Value: Equatable>(
  between value: Value, and expected: Value, _ comment: @autoclosure () -> Comment?
) -> Comment? {
  guard value != expected else { return nil }
  let note = comment().map { "\n\($0)" } ?? ""
  return "\(String(reflecting: value)) is not \(String(reflecting: expected))\(note)"
}
