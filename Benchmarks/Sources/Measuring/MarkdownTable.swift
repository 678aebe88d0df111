/// A Markdown table whose columns are aligned in the source text.
public struct MarkdownTable: Equatable, Sendable {
  public let head: [String]
  public private(set) var rows: [[String]]

  public init(head: [String], rows: [[String]] = []) {
    self.head = head
    self.rows = rows
  }

  public var text: String {
    let widths = head.indices.map { column in
      ([head] + rows).map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
    }
    let dashes = widths.map { String(repeating: "-", count: max($0, 3)) }
    return ([head, dashes] + rows).map { line(of: $0, widths) }.joined(separator: "\n")
  }

  private func line(of cells: [String], _ widths: [Int]) -> String {
    let padded = widths.indices.map { column in
      let cell = cells.indices.contains(column) ? cells[column] : ""
      return cell + String(repeating: " ", count: max(max(widths[column], 3) - cell.count, 0))
    }
    return "| " + padded.joined(separator: " | ") + " |"
  }
}
