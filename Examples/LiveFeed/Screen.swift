import Foundation
import Synchronization

/// The output: lines of text, and in a terminal one line of progress below them. Without a terminal, each stop is a line.
final class Screen: Sendable {
  private let isTerminal = isatty(FileHandle.standardOutput.fileDescriptor) == 1
  /// The line of progress in a terminal.
  private let progress = Mutex("")

  /// Writes a line above the line of progress.
  func line(_ text: String) {
    draw(text + "\n")
  }

  func title(_ text: String) {
    line("\n\(text)\n\(String(repeating: "-", count: text.count))")
  }

  func show(_ stop: Stop) {
    let text = "stop \(stop.number) of \(TramServer.stops.count)  \(stop.name)"
    guard isTerminal else { return line(text) }
    let rest = String(repeating: "─", count: (TramServer.stops.count - stop.number) * 3)
    draw("", progress: String(repeating: "━", count: stop.number * 3) + rest + "  " + text + "\n")
  }

  /// Leaves the line of progress in place: later lines are written below it.
  func leaveProgress() {
    progress.withLock { $0 = "" }
  }

  /// Erases the line of progress, writes a text, and redraws the line, in one write.
  private func draw(_ text: String, progress new: String? = nil) {
    progress.withLock { progress in
      let removal = progress.isEmpty ? "" : "\u{1B}[1A\u{1B}[J"
      if let new { progress = new }
      FileHandle.standardOutput.write(Data((removal + text + progress).utf8))
    }
  }
}
