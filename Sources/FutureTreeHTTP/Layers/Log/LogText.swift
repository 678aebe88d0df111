import FutureTree

/// The lines of one load in a `Log`, as text. Pure.
struct LogText: Sendable {
  /// What is written when the load begins.
  let start: String
  /// The bytes of `start` with which the other line begins: number, method and URL, and on which attempt.
  private let frontCount: Int

  init(number: Int, label: String?, _ request: HTTPRequest, _ redaction: Redaction) {
    let attempt = request[option: RequestAttempt.self]
    // Appended, not interpolated, which takes three times as long; and with room for most lines, in one block of memory.
    var line = "["
    line.reserveCapacity(LogText.usualLength)
    if let label { line += OneLine.text(label, limit: 50) + " " }
    line += String(number)
    line += "] "
    // Neither a method nor a URL has a blank, so that none of them can pass for what the log says.
    var target = request.method.name
    target.reserveCapacity(LogText.usualLength)
    target += " "
    redaction.write(targetOf: request, to: &target)
    line += OneLine.text(target)
    if attempt > 1 { line += ", attempt \(attempt)" }
    frontCount = line.utf8.count
    line += ": begins"
    if !request.body.isEmpty, let sent = request.body.contentLength { line += ", sends \(LogText.size(sent))" }
    start = line
  }

  private static let usualLength = 100

  /// What is written when it has ended.
  func end(_ outcome: Outcome<HTTPResponse>, after duration: Duration) -> String {
    let time = LogText.duration(duration)
    var line = ""
    line.reserveCapacity(LogText.usualLength)
    line += start[..<start.utf8.index(start.startIndex, offsetBy: frontCount)]
    switch outcome {
    case .success(let response):
      line += ": "
      line += String(response.status.code)
      line += " in "
      line += time
      line += ", "
      line += LogText.size(response.bodySize)
    case .failure(let error):
      line += ": failed after \(time): \(LogText.name(of: error))"
    case .cancelled(let reason):
      line += ": cancelled after \(time): \(LogText.text(of: reason))"
    }
    return line
  }

  /// The message, and the line that asked, which a long message does not push out.
  private static func text(of reason: CancellationReason) -> String {
    let message = OneLine.text(reason.message, limit: 200)
    return reason.fileID.isEmpty ? message : "\(message) (\(OneLine.text(reason.fileID, limit: 100)):\(reason.line))"
  }

  /// The code of an error; of any other, its type: its description may hold secrets.
  static func name(of error: any Error) -> String {
    OneLine.text((error as? HTTPError)?.code.description ?? String(describing: type(of: error)), limit: 100)
  }
}

// MARK: - Figures, rounded down

extension LogText {
  /// Such as `0.3 ms`, `12 ms`, `1.4 s`, `2 min 5 s`, `3 h 20 min`. A clock that went back is zero.
  static func duration(_ duration: Duration) -> String {
    let (seconds, attoseconds) = max(duration, .zero).components
    let microseconds = attoseconds / 1_000_000_000_000
    switch seconds {
    case 0 where microseconds < 1000: return "0.\(microseconds / 100) ms"
    case 0: return "\(microseconds / 1000) ms"
    case 1..<60: return "\(seconds).\(microseconds / 100_000) s"
    case 60..<3600: return "\(seconds / 60) min \(seconds % 60) s"
    default: return "\(seconds / 3600) h \(seconds % 3600 / 60) min"
    }
  }

  /// Such as `1 byte`, `999 bytes`, `1.4 kB`, `3.2 MB`. A thousand bytes are a kB.
  static func size(_ count: Int) -> String {
    guard count >= 1000 else { return count == 1 ? "1 byte" : "\(count) bytes" }
    var unit = 1000
    var units = ["MB", "GB", "TB", "PB", "EB"][...]
    var name = "kB"
    while count / unit >= 1000, let next = units.popFirst() {
      unit *= 1000
      name = next
    }
    return "\(count / unit).\(count % unit / (unit / 10)) \(name)"
  }
}
