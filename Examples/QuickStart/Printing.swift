import FutureTree

func title(_ text: String) {
  print("\n\(text)\n\(String(repeating: "-", count: text.count))")
}

/// Prints a line about a future that has completed: the picture of it, and for a success what it brought.
func report<Value: Sendable>(_ future: Future<Value>, _ outcome: Outcome<Value>) {
  switch outcome {
  case .success(let values as [any Sendable]): print("\(future.tree()), \(values.count) of them")
  case .success(let value): print("\(future.tree()): \(value)")
  case .failure, .cancelled: print(future.tree())
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
