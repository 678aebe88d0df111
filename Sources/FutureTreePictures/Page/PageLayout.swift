import FutureTree

/// The positions of the futures of a drawing. All numbers are integers, so that a drawing has the same bytes on every machine.
///
/// A future stands to the left of the futures that wait for it. Each leaf has its own row, and a future with several children is
/// centered between them. A future that a body returned stands to the right of the future that waits for it, so that every branch
/// fits into one row.
struct PageLayout {
  struct Box {
    let x: Int
    let y: Int
    let width: Int
    let height: Int
  }

  private static let (columnGap, rowGap, padding, boxHeight) = (40, 14, 12, 74)

  /// The boxes, by the position of the future.
  let boxes: [Box]
  let width: Int
  let height: Int

  /// - Parameters:
  ///   - textWidths: The width of the text of each future.
  ///   - edges: The links from a future (`from`) to the future that waits for it (`to`), in the order in which they were made.
  init(textWidths: [Int], edges: [(from: Int, to: Int)]) {
    let parents = Self.parents(textWidths.count, edges)
    let (order, columns) = Self.depthFirst(parents)
    var widths = [Int](repeating: 0, count: (columns.max() ?? 0) + 1)
    for (future, column) in columns.enumerated() {
      widths[column] = max(widths[column], textWidths[future] + 2 * Self.padding)
    }
    let lefts = widths.reduce(into: [0]) { lefts, width in lefts.append(lefts.last! + width + Self.columnGap) }
    let rows = Self.rows(order, parents)
    boxes = columns.indices.map { future in
      Box(
        x: lefts[columns[future]], y: rows[future] * (Self.boxHeight + Self.rowGap) / 2, width: widths[columns[future]],
        height: Self.boxHeight)
    }
    width = boxes.map { $0.x + $0.width }.max() ?? 0
    height = boxes.map { $0.y + $0.height }.max() ?? 0
  }

  /// Returns the parent of each future: the first future that it waited for or, if it never waited, the future that it was
  /// returned to.
  private static func parents(_ count: Int, _ edges: [(from: Int, to: Int)]) -> [Int?] {
    var parents = [Int?](repeating: nil, count: count)
    func isAncestor(_ future: Int, of descendant: Int) -> Bool {
      var current: Int? = descendant
      while let next = current {
        if next == future { return true }
        current = parents[next]
      }
      return false
    }
    for edge in edges where parents[edge.to] == nil && !isAncestor(edge.to, of: edge.from) {
      parents[edge.to] = edge.from
    }
    var firstWaiter = [Int?](repeating: nil, count: count)
    for edge in edges where firstWaiter[edge.from] == nil { firstWaiter[edge.from] = edge.to }
    for future in 0..<count where parents[future] == nil {
      guard let waiter = firstWaiter[future], !isAncestor(future, of: waiter) else { continue }
      parents[future] = waiter
    }
    return parents
  }

  /// Returns the futures, each before its children, and the column of each future.
  private static func depthFirst(_ parents: [Int?]) -> (order: [Int], columns: [Int]) {
    var children = [[Int]](repeating: [], count: parents.count)
    for (future, parent) in parents.enumerated() { parent.map { children[$0].append(future) } }
    var columns = [Int](repeating: 0, count: parents.count)
    var order: [Int] = []
    var stack = Array(parents.indices.filter { parents[$0] == nil }.reversed())
    while let future = stack.popLast() {
      order.append(future)
      columns[future] = parents[future].map { columns[$0] + 1 } ?? 0
      stack += children[future].reversed()
    }
    return (order, columns)
  }

  /// Returns the row of each future, in halves of a row.
  private static func rows(_ order: [Int], _ parents: [Int?]) -> [Int] {
    var bounds = [(first: Int, last: Int)?](repeating: nil, count: parents.count)
    var isParent = [Bool](repeating: false, count: parents.count)
    for case let parent? in parents { isParent[parent] = true }
    var nextRow = 0
    for future in order where !isParent[future] {
      bounds[future] = (nextRow, nextRow)
      nextRow += 2
    }
    for future in order.reversed() {  // Children before their parents, the last child first.
      guard let (first, last) = bounds[future], let parent = parents[future] else { continue }
      let row = (first + last) / 2
      bounds[parent] = (row, bounds[parent]?.last ?? row)
    }
    return bounds.map { bounds in bounds.map { ($0.first + $0.last) / 2 } ?? 0 }
  }

  /// Returns the approximate width of a text, in tenths of the font size. Fonts differ: the width is enough for a wide font.
  static func tenths(of text: String) -> Int {
    text.unicodeScalars.reduce(3) { sum, character in
      switch character {
      case "i", "j", "l", "t", "f", "r", "I", ".", ",", ":", ";", "'", "|", "!", " ", "/", "(", ")": sum + 4
      case "m", "w", "M", "W", "@", "%": sum + 10
      case "A"..."Z": sum + 7
      case "\u{1100}"...: sum + 11
      default: sum + 6
      }
    }
  }
}
