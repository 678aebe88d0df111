import Foundation

@testable import FutureTree
@testable import FutureTreePictures

/// A page of a log has the same tags, whatever the names, reasons and errors are. Bytes that are a stored log or snapshot become a
/// page.
func fuzzPages(_ bytes: [UInt8]) throws {
  let decoder = JSONDecoder()
  if let snapshot = try? decoder.decode(TreeSnapshot.self, from: Data(bytes)) {
    check(snapshot.html().hasSuffix("</html>\n"), "The page of a snapshot is cut.")
  } else if let recording = try? decoder.decode(FutureLog.Recording.self, from: Data(bytes)) {
    check(recording.html().hasSuffix("</html>\n"), "The page of a log is cut.")
  }
  let plain = events(bytes) { _ in "x" }
  let hostile = events(bytes) { $0 }
  let pages = [plain, hostile].map {
    FutureLog.Recording(events: $0, droppedCount: 1).html(title: $0.first?.name ?? "")
  }
  check(tags(of: pages[0]) == tags(of: pages[1]), "A text has become a tag.")
  check(
    !pages[1].unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0 == "\u{202E}" }, "A mark is not escaped.")
}

/// Reads events from bytes.
private func events(_ bytes: [UInt8], _ text: (String) -> String) -> [FutureEvent] {
  var input = Input(bytes)
  var events: [FutureEvent] = []
  while !input.isEmpty, events.count < 50 {
    let (kind, future, other) = (input.byte(), Int(input.byte() % 8), Int(input.byte() % 8))
    let reason = CancellationReason(text(input.text()), fileID: text(input.text()), line: 1)
    let request = CancelRequest(options: .doNotForwardIfOthersWaiting, reason: reason)
    let fact: FutureEvent.Fact =
      switch kind % 9 {
      case 0: .created
      case 1: .joined
      case 2: .named
      case 3: .linked(to: other)
      case 4: .cancelRequested(request)
      case 5: .withheld(request, by: other)
      case 6: .succeeded
      case 7: .failed(reason.message)
      default: .cancelled(reason)
      }
    events.append(
      FutureEvent(number: events.count, time: .nanoseconds(0), future: future, name: text(input.text()), fact: fact))
  }
  return events
}

/// The tags of a page, without the values of their attributes.
private func tags(of page: String) -> [[UInt8]] {
  page.utf8.split(separator: UInt8(ascii: "<")).dropFirst().map { part in
    let parts = part.prefix { $0 != UInt8(ascii: ">") }
      .split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
    return parts.enumerated().flatMap { $0.isMultiple(of: 2) ? Array($1) : [] }
  }
}
