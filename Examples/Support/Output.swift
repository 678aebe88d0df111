import Foundation

/// Prints a line that is underlined.
package func title(_ text: String) {
  say("\n\(text)\n\(String(repeating: "-", count: text.count))")
}

/// Writes a line at once, without a buffer.
package func say(_ text: String) {
  FileHandle.standardOutput.write(Data((text + "\n").utf8))
}
