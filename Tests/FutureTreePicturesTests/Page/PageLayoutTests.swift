import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree
@testable import FutureTreePictures

@Suite("Pages: layout") struct PageLayoutTests {
  /// Expects that boxes do not overlap, and returns the layout.
  @discardableResult
  private func checked(_ count: Int, _ edges: [(from: Int, to: Int)]) -> PageLayout {
    let layout = PageLayout(textWidths: (0..<count).map { $0 * 10 }, edges: edges)
    expectEqual(layout.boxes.count, count)
    for (index, box) in layout.boxes.enumerated() {
      #expect(box.x >= 0 && box.x + box.width <= layout.width)
      #expect(box.y >= 0 && box.y + box.height <= layout.height)
      for other in layout.boxes.dropFirst(index + 1) { #expect(!box.overlaps(other), "\(edges): \(box) \(other)") }
    }
    return layout
  }

  @Test("Boxes do not overlap, and no arrow runs back", arguments: Shape.all)
  func boxes(of shape: Shape) {
    let layout = checked(shape.count, shape.edges)
    for edge in shape.edges where !shape.hasCircle {
      let (from, to) = (layout.boxes[edge.from], layout.boxes[edge.to])
      #expect(from.x + from.width < to.x, "\(edge)")
    }
  }

  @Test("Boxes of any graph do not overlap, and no arrow runs back", arguments: 0..<100)
  func graphs(seed: Int) {
    var random = SplitMix64(seed: UInt64(seed))
    let count = Int.random(in: 2...20, using: &random)
    let edges = (0..<Int.random(in: 0..<30, using: &random)).compactMap { _ -> (from: Int, to: Int)? in
      let (one, other) = (Int.random(in: 0..<count, using: &random), Int.random(in: 0..<count, using: &random))
      return one == other ? nil : (max(one, other), min(one, other))  // Created later, and waited for.
    }

    let layout = checked(count, edges)

    for edge in edges { #expect(layout.boxes[edge.from].x < layout.boxes[edge.to].x, "\(edges)") }
    let circles = edges + edges.map { (from: $0.to, to: $0.from) }
    checked(count, circles)
  }

  @Test("A future that a body returned stands just before the future that waits for it, in a row of its own")
  func returned() {
    let layout = checked(4, [(0, 1), (1, 2), (3, 2)])

    expectEqual(layout.boxes[3].x, layout.boxes[1].x)
    expectEqual(layout.boxes[2].y, layout.boxes[0].y)
    #expect(layout.boxes[3].y > layout.boxes[2].y)
  }

  @Test("A box with several children is centered on them")
  func middle() {
    let layout = PageLayout(textWidths: [50, 50, 50, 50], edges: [(0, 1), (0, 2), (0, 3)])

    expectEqual(layout.boxes[0].y, layout.boxes[2].y)
  }

  @Test("A tree without futures has no size")
  func empty() {
    let layout = PageLayout(textWidths: [], edges: [])

    #expect(layout.boxes.isEmpty)
    expectEqual(layout.width, 0)
    expectEqual(layout.height, 0)
  }

  struct Shape: CustomTestStringConvertible {
    let testDescription: String
    let count: Int
    let edges: [(from: Int, to: Int)]
    var hasCircle = false

    static let all = [
      Shape(testDescription: "alone", count: 1, edges: []),
      Shape(testDescription: "chain", count: 3, edges: [(0, 1), (1, 2)]),
      Shape(testDescription: "two trees", count: 4, edges: [(0, 1), (2, 3)]),
      Shape(testDescription: "fan", count: 4, edges: [(0, 1), (0, 2), (0, 3)]),
      Shape(testDescription: "diamond", count: 4, edges: [(0, 1), (0, 2), (1, 3), (2, 3)]),
      Shape(testDescription: "join", count: 3, edges: [(0, 2), (1, 2)]),
      Shape(testDescription: "inner future", count: 3, edges: [(0, 1), (2, 1)]),
      Shape(testDescription: "circle", count: 2, edges: [(0, 1), (1, 0)], hasCircle: true),
      Shape(testDescription: "waits for itself", count: 1, edges: [(0, 0)], hasCircle: true),
    ]
  }
}

extension PageLayout.Box {
  fileprivate func overlaps(_ other: PageLayout.Box) -> Bool {
    x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height
  }
}
