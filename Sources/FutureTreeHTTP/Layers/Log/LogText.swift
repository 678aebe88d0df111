import FutureTree

/// The log lines of one load, as text. Pure.
struct LogText: Sendable {
  /// The line for the beginning of the load.
  let start: String
  /// The number of bytes at the beginning of `start` that the second line repeats: the number, the method, the URL and
  /// the attempt.
  private let frontCount: Int

  init(number: Int, label: String?, _ request: HTTPRequest, _ redaction: Redaction) {
    let attempt = request.attempt
    // Neither a method nor a URL contains a space, so neither can imitate other parts of the line.
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

  /// Returns the line for the end of the load.
  func end(_ outcome: Outcome<HTTPResponse>, _ transfer: Outcome<Void>, after duration: Duration) -> String {
    let time = LogText.duration(duration)
    let front = String(start.utf8.prefix(frontCount))!
    var (status, size) = ("", "")
    if case .success(let response) = outcome {
      (status, size) = (String(response.status.code), LogText.size(response.bodySize))
      if case .success = transfer { return LogText.line([front, ": ", status, " in ", time, ", ", size]) }
      (status, size) = (status + ", then ", " and " + size)
    }
    switch transfer {
    case .success: return LogText.line([front, ": ", status])
    case .failure(let error):
      return LogText.line([front, ": ", status, "failed after ", time, size, ": ", LogText.name(of: error)])
    case .cancelled(let reason):
      return LogText.line([front, ": ", status, "cancelled after ", time, size, ": "] + LogText.text(of: reason))
    }
  }

  /// Joins the texts by copying them into one block of memory. Appending or interpolating them takes several times as
  /// long.
  private static func line(_ texts: [String]) -> String {
    String(unsafeUninitializedCapacity: texts.reduce(0) { $0 + $1.utf8.count }) { line in
      var count = 0
      for var text in texts {
        count += text.withUTF8 { UnsafeMutableBufferPointer(rebasing: line[count...]).update(fromContentsOf: $0) }
      }
      return count
    }
  }

  /// Returns the message, shortened if it is long, and the line of the request, which is always shown.
  private static func text(of reason: CancellationReason) -> [String] {
    let message = OneLine.text(reason.message, limit: 200)
    if reason.fileID.isEmpty { return [message] }
    return [message, " (", OneLine.text(reason.fileID, limit: 100), ":", String(reason.line), ")"]
  }

  /// Returns the code of an `HTTPError`, or the type of any other error. Descriptions of errors may contain secrets.
  static func name(of error: any Error) -> String {
    OneLine.text((error as? HTTPError)?.code.description ?? String(describing: type(of: error)), limit: 100)
  }
}

// MARK: - Numbers, rounded down

extension LogText {
  /// Formats a duration as `0.3 ms`, `12 ms`, `1.4 s`, `2 min 5 s` or `3 h 20 min`. A negative duration is shown as zero.
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

  /// Formats a size as `1 byte`, `999 bytes`, `1.4 kB` or `3.2 MB`. A kB has 1,000 bytes.
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
