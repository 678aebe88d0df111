extension String {
  /// Returns this string with spaces after it, for a column of a table.
  package func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
