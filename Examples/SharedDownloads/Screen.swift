import Foundation
import Synchronization

/// Lines of text, and below them one bar a file where there is a terminal. Elsewhere bars are lines, written when asked.
final class Screen: Sendable {
  struct Bar: Sendable {
    let name: String
    var percent = 0
    var waiting: Int
    var note = ""

    /// Such as `atlas.pdf     50 %  5 wait`.
    var text: String {
      let padding = String(repeating: " ", count: 12 - name.count + (percent < 10 ? 2 : percent < 100 ? 1 : 0))
      return "\(name)\(padding)\(percent) %  \(note.isEmpty ? "\(waiting) wait\(waiting == 1 ? "s" : "")" : note)"
    }

    var drawing: String {
      let full = percent * 24 / 100
      return String(repeating: "█", count: full) + String(repeating: "░", count: 24 - full) + "  " + text
    }
  }

  private struct State {
    var bars: [Bar] = []
    var drawn = 0
  }

  private let isTerminal = isatty(FileHandle.standardOutput.fileDescriptor) == 1
  private let state = Mutex(State())

  /// Writes a line, above the bars.
  func line(_ text: String = "") {
    draw { _ in text + "\n" }
  }

  func title(_ text: String) {
    line("\n\(text)\n\(String(repeating: "-", count: text.count))")
  }

  func show(_ bars: [Bar]) {
    draw {
      $0.bars = bars
      return ""
    }
  }

  /// Changes the bar of a file, and draws it anew where there is a terminal.
  func change(_ name: String, _ change: @Sendable (inout Bar) -> Void) {
    draw { state in
      guard let index = state.bars.firstIndex(where: { $0.name == name }) else { return "" }
      change(&state.bars[index])
      return ""
    }
  }

  /// Writes the bars that have no note as lines, where they are not on the screen anyway.
  func report() {
    guard !isTerminal else { return }
    draw { state in state.bars.filter(\.note.isEmpty).map { $0.text + "\n" }.joined() }
  }

  /// Leaves the bars where they are: what comes next is written below them.
  func leaveBars() {
    draw {
      $0.bars = []
      $0.drawn = 0
      return ""
    }
  }

  /// Takes the bars away, writes, and draws the bars again, in one write.
  private func draw(_ change: @Sendable (inout State) -> String) {
    state.withLock { state in
      let removal = state.drawn > 0 ? "\u{1B}[\(state.drawn)A\u{1B}[J" : ""
      let text = change(&state)
      guard isTerminal else { return write(text) }
      write((state.drawn > 0 ? removal : "") + text + state.bars.map { $0.drawing + "\n" }.joined())
      state.drawn = state.bars.count
    }
  }

  private func write(_ text: String) {
    if !text.isEmpty { FileHandle.standardOutput.write(Data(text.utf8)) }
  }
}
