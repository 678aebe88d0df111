import Measuring
import Testing

@Suite("Markdown tables") struct MarkdownTableTests {
  @Test("Columns are as wide as their widest cell")
  func widths() {
    let table = MarkdownTable(head: ["work", "×"], rows: [["a", "2.5–3"], ["a chain", "1"]])

    #expect(
      table.text == """
        | work    | ×     |
        | ------- | ----- |
        | a       | 2.5–3 |
        | a chain | 1     |
        """)
  }

  @Test("A short row is padded with empty cells")
  func shortRow() {
    let table = MarkdownTable(head: ["work", "goal"], rows: [["chain"]])

    #expect(table.text.hasSuffix("| chain |      |"))
  }
}
