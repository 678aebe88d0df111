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
  guard value != expected else { return }
  let note = comment().map { "\n\($0)" } ?? ""
  Issue.record(
    "\(String(reflecting: value)) is not \(String(reflecting: expected))\(note)", sourceLocation: sourceLocation)
}
