import Foundation

/// Splits bytes that arrive in chunks into lines of bytes. A pure value: it reads nothing and decodes nothing.
///
/// # Invariants
/// 1. The lines, and whether a line is too long, depend only on the bytes and not on their division into chunks.
/// 2. Each byte is examined once. The beginning of an incomplete line is not searched again.
/// 3. Only the current line and the bytes that were not yet examined are in memory.
struct ByteLines: Sendable {
  enum Ending: Sendable {
    /// LF or CRLF. A CR without a following LF is part of its line.
    case lineFeed
    /// LF, CRLF or CR. A CR ends its line at once. An LF that follows it, also in a later chunk, is skipped.
    case lineFeedOrCarriageReturn
  }

  /// The error for a line that has more bytes than the limit.
  struct TooLong: Error {}

  static let (lineFeed, carriageReturn) = (UInt8(ascii: "\n"), UInt8(ascii: "\r"))
  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  private let ending: Ending
  private let limit: Int
  private var unread: ArraySlice<UInt8> = []
  /// The beginning of the current line.
  private var line: [UInt8] = []
  private var skipsLineFeed = false
  private var isFirst = true
  private var isFinished = false

  /// - Parameter limit: The largest number of bytes of a line, without its end and a byte order mark.
  init(ending: Ending, limit: Int) {
    self.ending = ending
    self.limit = limit
  }

  mutating func receive(_ bytes: Data) {
    if unread.isEmpty {
      unread = ArraySlice(bytes)
    } else {
      unread.append(contentsOf: bytes)
    }
  }

  /// Ends the last line. If it has no bytes, it is not a line.
  mutating func finish() {
    isFinished = true
  }

  /// Returns the next line without its end, or `nil` if it is incomplete. A byte order mark at the beginning of the first
  /// line is removed.
  ///
  /// - Throws: `TooLong`. The lines after the error are undefined.
  mutating func next() throws(TooLong) -> [UInt8]? {
    let isComplete = readToLineEnd()
    guard isComplete || isFinished else {
      // A byte order mark and a CR may still be removed. A line with four more bytes is too long in any case.
      guard line.count - Self.byteOrderMark.count - 1 <= limit else { throw TooLong() }
      return nil
    }
    var line: [UInt8] = []
    swap(&line, &self.line)
    if isFirst, line.starts(with: Self.byteOrderMark) { line.removeFirst(Self.byteOrderMark.count) }
    isFirst = false
    guard line.count <= limit else { throw TooLong() }
    return isComplete || !line.isEmpty ? line : nil
  }

  /// Moves the unread bytes up to the next line end to the current line. Returns whether there is a line end.
  private mutating func readToLineEnd() -> Bool {
    if skipsLineFeed, let byte = unread.first {
      if byte == Self.lineFeed { unread.removeFirst() }
      skipsLineFeed = false
    }
    let endsWithCarriageReturn = ending == .lineFeedOrCarriageReturn
    let end = unread.firstIndex { $0 == Self.lineFeed || ($0 == Self.carriageReturn && endsWithCarriageReturn) }
    guard let end else {
      line += unread
      unread = []
      return false
    }
    line += unread[..<end]
    if unread[end] == Self.carriageReturn {
      skipsLineFeed = true
    } else if !endsWithCarriageReturn, line.last == Self.carriageReturn {
      line.removeLast()
    }
    unread = unread[(end + 1)...]
    return true
  }
}
