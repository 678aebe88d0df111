/// The positions of the futures of a tree. All numbers are integers, so that a picture has the same bytes on every machine.
///
/// A future stands to the left of the futures that wait for it. Each leaf has its own row, and a future with several children
/// is centered between them. A future that a body returned stands to the right of the future that waits for it, so that every
/// branch fits into one row.
struct Layout {
  struct Box {
    let x: Int
    let y: Int
    let width: Int
    let height: Int
  }

  private static let (columnGap, rowGap, padding, boxHeight) = (40, 14, 12, 74)

  private(set) var boxes: [Int: Box] = [:]
  private(set) var width = 0
  private(set) var height = 0

  /// - Parameters:
  ///   - numbers: The futures in the order in which they were created.
  ///   - edges: The links from a future (`from`) to the future that waits for it (`to`), in the order in which they were made.
  ///   - textWidth: Returns the width of the text of a future.
  init(numbers: [Int], edges: [(from: Int, to: Int)], textWidth: (Int) -> Int) {
    let parents = Self.parents(numbers, edges)
    var columns: [Int: Int] = [:]
    for number in numbers { columns[number] = Self.depth(of: number, parents) }
    var widths = [Int](repeating: 0, count: (columns.values.max() ?? 0) + 1)
    for (number, column) in columns {
      widths[column] = max(widths[column], textWidth(number) + 2 * Self.padding)
    }
    var row = 0
    func place(_ number: Int) {
      let column = columns[number] ?? 0
      let x = widths.prefix(column).reduce(0) { $0 + $1 + Self.columnGap }
      let children = numbers.filter { parents[$0] == number }
      for child in children { place(child) }
      var y = row * (Self.boxHeight + Self.rowGap)
      if let first = children.first.flatMap({ boxes[$0] }), let last = children.last.flatMap({ boxes[$0] }) {
        y = (first.y + last.y) / 2
      } else {
        row += 1
      }
      boxes[number] = Box(x: x, y: y, width: widths[column], height: Self.boxHeight)
    }
    for root in numbers where parents[root] == nil { place(root) }
    width = boxes.values.map { $0.x + $0.width }.max() ?? 0
    height = boxes.values.map { $0.y + $0.height }.max() ?? 0
  }

  /// Returns the parent of each future: the first future that it waited for or, if it never waited, the future that it was
  /// returned to.
  private static func parents(_ numbers: [Int], _ edges: [(from: Int, to: Int)]) -> [Int: Int] {
    var parents: [Int: Int] = [:]
    for edge in edges where parents[edge.to] == nil && !ancestor(edge.to, of: edge.from, parents) {
      parents[edge.to] = edge.from
    }
    for number in numbers where parents[number] == nil {
      guard let edge = edges.first(where: { $0.from == number }), parents[edge.to] != number,
        !ancestor(number, of: edge.to, parents)
      else { continue }
      parents[number] = edge.to
    }
    return parents
  }

  /// Returns whether a future is `number` or its descendant.
  private static func ancestor(_ number: Int, of descendant: Int, _ parents: [Int: Int]) -> Bool {
    var current: Int? = descendant
    while let next = current {
      if next == number { return true }
      current = parents[next]
    }
    return false
  }

  private static func depth(of number: Int, _ parents: [Int: Int]) -> Int {
    var (depth, current) = (0, number)
    while let parent = parents[current] { (depth, current) = (depth + 1, parent) }
    return depth
  }

  /// Returns the approximate width of a text, in tenths of the font size. Fonts differ: the width is enough for a wide font.
  static func tenths(of text: String) -> Int {
    text.reduce(3) { sum, character in
      switch character {
      case "i", "j", "l", "t", "f", "r", "I", ".", ",", ":", ";", "'", "|", "!", " ", "/", "(", ")": sum + 4
      case "m", "w", "M", "W", "@", "%": sum + 10
      case "A"..."Z": sum + 7
      default: sum + 6
      }
    }
  }
}
