import FutureTree

/// The lines of one load in a `Log`, as text. Pure.
struct LogText: Sendable {
  /// The line that is written when the load begins.
  let start: String
  /// The number of bytes of `start` with which the second line also begins: the number, the method, the URL and the attempt.
  private let frontCount: Int

  init(number: Int, label: String?, _ request: HTTPRequest, _ redaction: Redaction) {
    let attempt = request[option: RequestAttempt.self]
    // Neither a method nor a URL has a blank, so that none of them can pass for what the log says.
    var target = request.method.name
    target.reserveCapacity(LogText.usualLength)
    target += " "
    redaction.write(targetOf: request, to: &target)
    let mark = label.map { OneLine.text($0, limit: 50) + " " } ?? ""
    let times = attempt > 1 ? ", attempt \(attempt)" : ""
    let front = ["[", mark, String(number), "] ", OneLine.text(target), times]
    frontCount = front.reduce(0) { $0 + $1.utf8.count }
    let sent = request.body.isEmpty ? nil : request.body.contentLength
    start = LogText.line(front + [": begins", sent.map { ", sends \(LogText.size($0))" } ?? ""])
  }

  private static let usualLength = 100

  /// What is written when it has ended.
  func end(_ outcome: Outcome<HTTPResponse>, after duration: Duration) -> String {
    let time = LogText.duration(duration)
    let front = String(start.utf8.prefix(frontCount))!
    switch outcome {
    case .success(let response):
      return LogText.line([
        front, ": ", String(response.status.code), " in ", time, ", ", LogText.size(response.bodySize),
      ])
    case .failure(let error):
      return LogText.line([front, ": failed after ", time, ": ", LogText.name(of: error)])
    case .cancelled(let reason):
      return LogText.line([front, ": cancelled after ", time, ": "] + LogText.text(of: reason))
    }
  }

  /// Concatenates texts in one heap block. Appending or interpolating them takes several times as long.
  private static func line(_ texts: [String]) -> String {
    String(unsafeUninitializedCapacity: texts.reduce(0) { $0 + $1.utf8.count }) { line in
      var count = 0
      for var text in texts {
        count += text.withUTF8 { UnsafeMutableBufferPointer(rebasing: line[count...]).update(fromContentsOf: $0) }
      }
      return count
    }
  }

  /// The message, and the line that asked, which a long message does not push out.
  private static func text(of reason: CancellationReason) -> [String] {
    let message = OneLine.text(reason.message, limit: 200)
    if reason.fileID.isEmpty { return [message] }
    return [message, " (", OneLine.text(reason.fileID, limit: 100), ":", String(reason.line), ")"]
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
