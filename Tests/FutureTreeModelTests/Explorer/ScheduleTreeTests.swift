import TestSupport
import Testing

@Suite("Schedules as a tree of choices")
struct ScheduleTreeTests {
  private final class Place {}

  /// Returns the number of paths for threads with the given numbers of steps.
  private func pathCount(_ steps: [Int], places: [ObjectIdentifier?] = []) -> Int {
    var tree = ScheduleTree()
    var count = 0
    repeat {
      var left = steps
      while left.contains(where: { $0 > 0 }) {
        left[tree.choose(from: left.indices.filter { left[$0] > 0 }, places: places)] -= 1
      }
      if !tree.isRedundant { count += 1 }
    } while tree.advance()
    return count
  }

  @Test("Every order of the steps is one path")
  func allOrders() {
    expectEqual(pathCount([2, 2]), 6)
    expectEqual(pathCount([3, 3]), 20)
    expectEqual(pathCount([2, 2, 2]), 90)
  }

  @Test("All orders of steps at different places are one path, and each order at the same place is one")
  func places() {
    let (one, two) = (Place(), Place())

    expectEqual(pathCount([3, 3], places: [ObjectIdentifier(one), ObjectIdentifier(two)]), 1)
    expectEqual(pathCount([3, 3], places: [ObjectIdentifier(one), ObjectIdentifier(one)]), 20)
    expectEqual(pathCount([3, 3], places: [nil, ObjectIdentifier(two)]), 20)
  }

  @Test("A schedule is replayed to its end")
  func replay() {
    var tree = ScheduleTree(replaying: [1, 0])

    let chosen = [tree.choose(from: [0, 1]), tree.choose(from: [1, 0]), tree.choose(from: [1, 0])]

    expectEqual(chosen, [1, 0, 1])
    expectEqual(tree.schedule, [1, 0, 1])
    let hasNext = tree.advance()
    #expect(!hasNext)
  }

  @Test("A path that does not lead to the same choice again is reported")
  func divergence() {
    var tree = ScheduleTree()
    _ = tree.choose(from: [0, 1])
    _ = tree.choose(from: [0, 1])
    let hasNext = tree.advance()
    #expect(hasNext)

    _ = tree.choose(from: [0, 2])

    #expect(tree.hasDiverged)
  }
}
