import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("A dictionary with a limit") struct DictionaryLimitTests {
  private let full = ["a": 2, "b": 1, "c": 3]

  @Test("A new key beyond the limit removes the value that precedes the others", arguments: [3, 2])
  func removed(limit: Int) {
    var (smallest, largest) = (full, full)

    smallest.makeRoom(for: "d", limit: limit, removing: <)
    largest.makeRoom(for: "d", limit: limit, removing: >)

    expectEqual(smallest, ["a": 2, "c": 3])
    expectEqual(largest, ["a": 2, "b": 1])
  }

  @Test("A known key removes no value")
  func known() {
    var values = full

    values.makeRoom(for: "a", limit: 3, removing: <)

    expectEqual(values, full)
  }

  @Test("A new key within the limit removes no value")
  func within() {
    var values = full

    values.makeRoom(for: "d", limit: 4, removing: <)

    expectEqual(values, full)
  }

  @Test("An empty dictionary has room for a key, whatever its limit")
  func empty() {
    var values: [String: Int] = [:]

    values.makeRoom(for: "a", limit: 0, removing: <)

    #expect(values.isEmpty)
  }
}
