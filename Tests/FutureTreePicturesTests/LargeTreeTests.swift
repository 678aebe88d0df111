import FutureTree
import FutureTreePictures
import TestSupport
import Testing

/// These tests do not measure time: a quadratic algorithm would need tens of gigabytes and hours.
@Suite("Pictures of the tree: many futures on 512 KiB of stack") struct LargeTreeTests {
  private static let size = LongTest.count(100_000, small: 4_000)

  enum Shape: CaseIterable {
    case chain, fanOut, fanIn, diamonds

    /// Makes a tree of this shape and returns one of its futures.
    func make(from promise: Promise<Int>) -> Future<Int> {
      switch self {
      case .chain:
        (0..<LargeTreeTests.size - 1).reduce(promise.future) { tail, _ in tail.map { $0 } }
      case .fanOut:
        (0..<LargeTreeTests.size - 1).reduce(promise.future) { trunk, _ in
          trunk.map { $0 }
          return trunk
        }
      case .fanIn:
        Future.all((0..<LargeTreeTests.size - 2).map { _ in promise.future.map { $0 } }).map { $0.count }
      case .diamonds:
        (0..<LargeTreeTests.size / 3).reduce(promise.future) { top, _ in Future.race([top.map { $0 }, top.map { $0 }]) }
      }
    }

    var futures: Int {
      self == .fanIn ? LargeTreeTests.size + 1 : LargeTreeTests.size
    }
  }

  @Test("A large tree is captured and drawn in every format", arguments: Shape.allCases)
  func pictured(shape: Shape) {
    onSmallStack {
      let promise = Promise<Int>()
      let future = shape.make(from: promise)

      let tree = future.tree()

      expectEqual(tree.entries.count, shape.futures)
      let lines = tree.text().utf8.count { $0 == UInt8(ascii: "\n") } + 1
      #expect(lines >= shape.futures && lines < 2 * shape.futures)
      let edges = tree.entries.reduce(0) { $0 + $1.waiters.count }
      expectEqual(tree.dot().utf8.count { $0 == UInt8(ascii: "\n") }, shape.futures + edges + 4)
      expectEqual(tree.html().split(separator: "\n").count { $0.hasPrefix("<li id=") }, shape.futures)
      expectEqual(tree.mermaid().utf8.count { $0 == UInt8(ascii: "\n") }, shape.futures + edges + 2)
      promise.succeed(1)
    }
  }
}
