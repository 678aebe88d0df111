import TestSupport
import Testing

@testable import FutureTree
@testable import FutureTreePictures

@Suite("Pages: layout") struct PageLayoutTests {
  @Test("Boxes do not overlap and are to the right of their parents", arguments: Shape.all)
  func boxes(of shape: Shape) {
    let layout = PageLayout(textWidths: (0..<shape.count).map { $0 * 10 }, edges: shape.edges)

    expectEqual(layout.boxes.count, shape.count)
    for (index, box) in layout.boxes.enumerated() {
      #expect(box.x >= 0 && box.x + box.width <= layout.width)
      #expect(box.y >= 0 && box.y + box.height <= layout.height)
      for other in layout.boxes.dropFirst(index + 1) { #expect(!box.overlaps(other), "\(box) \(other)") }
    }
    for (future, parent) in shape.parents { #expect(layout.boxes[future].x > layout.boxes[parent].x) }
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
    let parents: [Int: Int]

    static let all = [
      Shape(testDescription: "alone", count: 1, edges: [], parents: [:]),
      Shape(testDescription: "chain", count: 3, edges: [(0, 1), (1, 2)], parents: [1: 0, 2: 1]),
      Shape(testDescription: "two trees", count: 4, edges: [(0, 1), (2, 3)], parents: [1: 0, 3: 2]),
      Shape(testDescription: "fan", count: 4, edges: [(0, 1), (0, 2), (0, 3)], parents: [1: 0, 2: 0, 3: 0]),
      Shape(testDescription: "diamond", count: 4, edges: [(0, 1), (0, 2), (1, 3), (2, 3)], parents: [3: 1]),
      Shape(testDescription: "join", count: 3, edges: [(0, 2), (1, 2)], parents: [2: 0, 1: 2]),
      Shape(testDescription: "inner future", count: 3, edges: [(0, 1), (2, 1)], parents: [1: 0, 2: 1]),
      Shape(testDescription: "circle", count: 2, edges: [(0, 1), (1, 0)], parents: [1: 0]),
      Shape(testDescription: "waits for itself", count: 1, edges: [(0, 0)], parents: [:]),
    ]
  }
}

extension PageLayout.Box {
  fileprivate func overlaps(_ other: PageLayout.Box) -> Bool {
    x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height
  }
}
