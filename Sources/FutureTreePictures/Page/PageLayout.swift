import FutureTree

/// The positions of the futures of a drawing. All numbers are integers, so that a drawing has the same bytes on every machine.
///
/// A future stands to the left of the futures that wait for it: no arrow runs back. Each leaf has its own row, and a future with
/// several children is centered between them. A future that waits for several is the child of the first. The others, such as the future
/// that a body returned, have rows of their own below, and stand just before the future that waits for them.
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
    let order = Self.depthFirst(parents, edges)
    let columns = Self.columns(order, parents, edges)
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

  /// Returns the parent of each future: the first future that it waited for.
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
    return parents
  }

  /// Returns the futures, each before its children. A tree whose root was waited for follows the tree with the first future that did.
  private static func depthFirst(_ parents: [Int?], _ edges: [(from: Int, to: Int)]) -> [Int] {
    var children = [[Int]](repeating: [], count: parents.count)
    for (future, parent) in parents.enumerated() { parent.map { children[$0].append(future) } }
    func root(of future: Int) -> Int {
      var root = future
      while let parent = parents[root] { root = parent }
      return root
    }
    // The trees that follow the tree of each root.
    var followers = [[Int]](repeating: [], count: parents.count)
    var isFollower = [Bool](repeating: false, count: parents.count)
    for edge in edges where parents[edge.to] != edge.from && !isFollower[root(of: edge.from)] {
      let (follower, first) = (root(of: edge.from), root(of: edge.to))
      guard follower != first, !follows(first, follower) else { continue }
      isFollower[follower] = true
      followers[first].append(follower)
    }
    func follows(_ tree: Int, _ first: Int) -> Bool {
      followers[first].contains { $0 == tree || follows(tree, $0) }
    }
    var order: [Int] = []
    var roots = Array(parents.indices.filter { parents[$0] == nil && !isFollower[$0] }.reversed())
    while let root = roots.popLast() {
      var stack = [root]
      while let future = stack.popLast() {
        order.append(future)
        stack += children[future].reversed()
      }
      roots += followers[root].reversed()
    }
    return order
  }

  /// Returns the column of each future: to the right of all that it waited for. A future that waited for none stands just before the
  /// first that waits for it.
  private static func columns(_ order: [Int], _ parents: [Int?], _ edges: [(from: Int, to: Int)]) -> [Int] {
    let edges = edges.filter { $0.from != $0.to }
    var columns = [Int](repeating: 0, count: parents.count)
    var inputs = [Int](repeating: 0, count: parents.count)
    var waiters = [[Int]](repeating: [], count: parents.count)
    for edge in edges {
      inputs[edge.to] += 1
      waiters[edge.from].append(edge.to)
    }
    let sources = order.filter { inputs[$0] == 0 }
    var ready = sources
    while let future = ready.popLast() {
      for waiter in waiters[future] {
        columns[waiter] = max(columns[waiter], columns[future] + 1)
        inputs[waiter] -= 1
        if inputs[waiter] == 0 { ready.append(waiter) }
      }
    }
    // The futures of a circle were not ready.
    for future in order where inputs[future] > 0 {
      columns[future] = max(columns[future], parents[future].map { columns[$0] + 1 } ?? 0)
    }
    for source in sources {
      if let first = waiters[source].map({ columns[$0] }).min() { columns[source] = max(columns[source], first - 1) }
    }
    return columns
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
