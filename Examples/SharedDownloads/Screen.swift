import Foundation
import Synchronization

/// The output: lines of text, and below them one bar per file in a terminal. Without a terminal, `report` writes bars as lines.
final class Screen: Sendable {
  struct Bar: Sendable {
    let name: String
    var percent = 0
    var waiting: Int
    var note = ""

    /// The text of the bar, such as `atlas.pdf     50 %  5 wait`.
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

  /// Writes a line above the bars.
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

  /// Changes the bar of a file and, in a terminal, redraws it.
  func change(_ name: String, _ change: @Sendable (inout Bar) -> Void) {
    draw { state in
      guard let index = state.bars.firstIndex(where: { $0.name == name }) else { return "" }
      change(&state.bars[index])
      return ""
    }
  }

  /// Writes the bars without a note as lines, if there is no terminal.
  func report() {
    guard !isTerminal else { return }
    draw { state in state.bars.filter(\.note.isEmpty).map { $0.text + "\n" }.joined() }
  }

  /// Leaves the bars in place: later lines are written below them.
  func leaveBars() {
    draw {
      $0.bars = []
      $0.drawn = 0
      return ""
    }
  }

  /// Erases the bars, writes, and redraws the bars, in one write.
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
