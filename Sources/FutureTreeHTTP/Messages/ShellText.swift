/// Words of a POSIX shell (IEEE Std 1003.1, sections 2.2 and `printf`).
enum ShellText {
  /// One word, whatever is in the text but NUL: nothing is special between single quotes, and a quote stands outside.
  ///
  /// Quotes are never left out: a word such as `=ls` or `~` is plain to one shell and not to another.
  static func quoted(_ text: String) -> String {
    var word: [UInt8] = [0x27]
    for byte in text.utf8 {
      if byte == 0x27 { word += Array(#"'\''"#.utf8) } else { word.append(byte) }
    }
    word.append(0x27)
    return String(decoding: word, as: UTF8.self)
  }

  /// A word that `printf` writes these bytes for, whatever they are. Every byte that is not plain is three octal digits,
  /// which every shell reads alike; `\x` is not one of them.
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

  /// Whether a text can stand in a command as it is: nothing in it moves a cursor, hides, or turns the direction of writing,
  /// so that what is pasted is what is seen. Line feeds may be there.
  static func isPrintable(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { $0 == "\n" || !OneLine.isEscaped($0) }
  }

  /// Visible ASCII and the space; not the quote, the backslash and the percent sign. A hyphen is left out for the first
  /// byte, which must not look like an option.
  private static func isPlain(_ byte: UInt8) -> Bool {
    (0x20...0x7E).contains(byte) && byte != 0x27 && byte != 0x5C && byte != 0x25 && byte != 0x2D
  }
}
