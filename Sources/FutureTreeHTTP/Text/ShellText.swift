/// Functions that quote words for a POSIX shell (IEEE Std 1003.1, sections 2.2 and `printf`).
enum ShellText {
  /// Quotes a string as one word. Every character except NUL is allowed: between single quotes no character is special,
  /// and a single quote is written outside them.
  ///
  /// Quotes are always written: a word such as `=ls` or `~` is plain in one shell and special in another.
  static func quoted(_ text: String) -> String {
    var word: [UInt8] = [0x27]
    for byte in text.utf8 {
      if byte == 0x27 { word += Array(#"'\''"#.utf8) } else { word.append(byte) }
    }
    word.append(0x27)
    return String(decoding: word, as: UTF8.self)
  }

  /// Returns a format word from which `printf` writes the bytes. Every byte that is not plain becomes three octal digits,
  /// which every shell reads alike. Shells disagree about `\x`.
  static func printfFormat(_ bytes: some Sequence<UInt8>) -> String {
    var word: [UInt8] = [0x27]
    for byte in bytes {
      if isPlain(byte) {
        word.append(byte)
      } else {
        word += [0x5C, 0x30 + (byte >> 6), 0x30 + (byte >> 3 & 7), 0x30 + (byte & 7)]
      }
    }
    word.append(0x27)
    return String(decoding: word, as: UTF8.self)
  }

  /// Returns whether a string can be shown in a command as it is. No character may move the cursor, be invisible, or
  /// change the writing direction, so that the pasted text is the visible text. Line feeds are allowed.
  static func isPrintable(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { $0 == "\n" || !OneLine.isEscaped($0) }
  }

  /// Whether the byte is visible ASCII or a space, except the quote, the backslash, the percent sign and the hyphen. A
  /// hyphen as the first byte would look like an option.
  private static func isPlain(_ byte: UInt8) -> Bool {
    (0x20...0x7E).contains(byte) && byte != 0x27 && byte != 0x5C && byte != 0x25 && byte != 0x2D
  }
}
