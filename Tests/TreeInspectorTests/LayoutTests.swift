import Testing

@testable import TreeInspector

@Suite("Layout") struct LayoutTests {
  @Test("Boxes do not overlap and are to the right of their parents", arguments: Shape.all)
  func boxes(of shape: Shape) {
    let numbers = Array(1...shape.count)

    let layout = Layout(numbers: numbers, edges: shape.edges) { $0 * 10 }

    let boxes = numbers.compactMap { layout.boxes[$0] }
    #expect(boxes.count == shape.count)
    for (index, box) in boxes.enumerated() {
      #expect(box.x >= 0 && box.x + box.width <= layout.width)
      #expect(box.y >= 0 && box.y + box.height <= layout.height)
      for other in boxes.dropFirst(index + 1) { #expect(!box.overlaps(other), "\(box) \(other)") }
    }
    for (number, parent) in shape.parents {
      #expect(layout.boxes[number].map(\.x) ?? 0 > layout.boxes[parent].map(\.x) ?? 0)
    }
  }

  @Test("A box with several children is centered on them")
  func middle() throws {
    let layout = Layout(numbers: [1, 2, 3, 4], edges: [(1, 2), (1, 3), (1, 4)]) { _ in 50 }

    let (trunk, branch) = (try #require(layout.boxes[1]), try #require(layout.boxes[3]))
    #expect(trunk.y == branch.y)
  }

  @Test("A tree without futures has no size")
  func empty() {
    let layout = Layout(numbers: [], edges: []) { _ in 50 }

    #expect(layout.boxes.isEmpty && layout.width == 0 && layout.height == 0)
  }

  struct Shape: CustomTestStringConvertible {
    let testDescription: String
    let count: Int
    let edges: [(from: Int, to: Int)]
    let parents: [Int: Int]

    static let all = [
      Shape(testDescription: "alone", count: 1, edges: [], parents: [:]),
      Shape(testDescription: "chain", count: 3, edges: [(1, 2), (2, 3)], parents: [2: 1, 3: 2]),
      Shape(testDescription: "two trees", count: 4, edges: [(1, 2), (3, 4)], parents: [2: 1, 4: 3]),
      Shape(testDescription: "fan", count: 4, edges: [(1, 2), (1, 3), (1, 4)], parents: [2: 1, 3: 1, 4: 1]),
      Shape(testDescription: "diamond", count: 4, edges: [(1, 2), (1, 3), (2, 4), (3, 4)], parents: [4: 2]),
      Shape(testDescription: "join", count: 3, edges: [(1, 3), (2, 3)], parents: [3: 1, 2: 3]),
      Shape(testDescription: "inner future", count: 3, edges: [(1, 2), (3, 2)], parents: [2: 1, 3: 2]),
      Shape(testDescription: "circle", count: 2, edges: [(1, 2), (2, 1)], parents: [2: 1]),
    ]
  }
}

extension Layout.Box {
  fileprivate func overlaps(_ other: Layout.Box) -> Bool {
    x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height
  }
}
