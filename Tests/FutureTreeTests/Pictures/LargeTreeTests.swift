import FutureTree
import TestSupport
import Testing

/// Time is not measured here (no wall clock): what is quadratic would need tens of gigabytes and hours.
@Suite("Pictures of the tree: 100,000 futures on 512 KiB of stack") struct LargeTreeTests {
  enum Shape: CaseIterable {
    case chain, fanOut, fanIn, diamonds

    /// Futures that keep the tree, and one of its middle.
    func make(from promise: Promise<Int>) -> Future<Int> {
      switch self {
      case .chain:
        (0..<99_999).reduce(promise.future) { tail, _ in tail.map { $0 } }
      case .fanOut:
        (0..<99_999).reduce(promise.future) { trunk, _ in
          trunk.map { $0 }
          return trunk
        }
      case .fanIn:
        Future.all((0..<99_998).map { _ in promise.future.map { $0 } }).map { $0.count }
      case .diamonds:
        (0..<33_333).reduce(promise.future) { top, _ in Future.race([top.map { $0 }, top.map { $0 }]) }
      }
    }

    var futures: Int {
      self == .fanIn ? 100_001 : 100_000
    }
  }

  @Test("a picture is taken and drawn in every way", arguments: Shape.allCases)
  func pictured(shape: Shape) {
    onSmallStack {
      let promise = Promise<Int>()
      let future = shape.make(from: promise)

      let tree = future.tree()

      #expect(tree.entries.count == shape.futures)
      let lines = tree.text().utf8.count { $0 == UInt8(ascii: "\n") } + 1
      #expect(lines >= shape.futures && lines < 2 * shape.futures)
      let edges = tree.entries.reduce(0) { $0 + $1.waiters.count }
      #expect(tree.dot().utf8.count { $0 == UInt8(ascii: "\n") } == shape.futures + edges + 4)
      #expect(tree.mermaid().utf8.count { $0 == UInt8(ascii: "\n") } == shape.futures + edges + 2)
      promise.succeed(1)
    }
  }
}
