import FutureTree

func title(_ text: String) {
  print("\n\(text)\n\(String(repeating: "-", count: text.count))")
}

/// Prints a line about a completed future: its name and state, from its tree snapshot, and its outcome.
func report<Value: Sendable>(_ future: Future<Value>, _ outcome: Outcome<Value>) {
  guard let entry = future.tree().entries.first else { return }
  let name = entry.name + String(repeating: " ", count: max(0, 20 - entry.name.count))
  switch outcome {
  case .success(let values as [any Sendable]): print("\(name)\(entry.state): \(values.count) items")
  case .success(let value): print("\(name)\(entry.state): \(value)")
  case .failure, .cancelled: print("\(name)\(entry.state)")
  }
}

func countPrimes(below limit: Int) -> Int {
  var isComposite = [Bool](repeating: false, count: limit)
  var count = 0
  for number in 2..<limit where !isComposite[number] {
    count += 1
    for multiple in stride(from: number * number, to: limit, by: number) { isComposite[multiple] = true }
  }
  return count
}
