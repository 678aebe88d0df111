extension Dictionary {
  /// Makes room for a key. If it is new and there are `limit` values, removes the value that precedes the others.
  mutating func makeRoom(for key: Key, limit: Int, removing precedes: (Value, Value) -> Bool) {
    guard count >= limit, self[key] == nil, let first = self.min(by: { precedes($0.value, $1.value) }) else { return }
    self[first.key] = nil
  }
}
