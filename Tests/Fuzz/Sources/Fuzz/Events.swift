import Foundation

@testable import FutureTreeHTTP

/// The events of a stream are the same for each division into chunks, respect the limit, and keep their meaning when they
/// are written and parsed again. Each ID can be sent.
func fuzzEvents(_ bytes: [UInt8]) throws {
  var input = Input(bytes)
  let (limit, sizes, stream) = (Int(input.byte()), input.bytes(), input.remaining())
  let whole = Findings([Data(stream)], limit: limit)
  check(
    Findings(chunks(of: stream, sizes: sizes), limit: limit) == whole, "Chunks of \(sizes) bytes have other events.")
  for event in whole.events {
    check(!event.type.isEmpty, "A type is empty.")
    // A replacement character has three bytes, and can replace one byte.
    check(
      event.data.utf8.count <= 3 * max(1, limit), "An event has \(event.data.utf8.count) bytes. The limit is \(limit).")
    check(!event.data.utf8.contains(0x0D), "The data contains a CR.")
    var request = try HTTPRequest("http://a/")
    try request.setHeader("Last-Event-ID", received: FieldSyntax.trimmed(event.id))
    check(!event.description.contains(where: \.isNewline), "A description spans lines.")
  }
  if let retry = whole.retry { check(retry >= .zero, "A delay is negative.") }
  let written = whole.events.map(written).joined()
  check(Findings([Data(written.utf8)], limit: .max).events == whole.events, "Written events are parsed as others.")
}

private struct Findings: Equatable {
  var events: [ServerSentEvent] = []
  var lastEventID = ""
  var retry: Duration?
  var error: HTTPError.Code?

  init(_ chunks: [Data], limit: Int) {
    var parser = ServerSentEventParser(maximumEventSize: limit)
    do throws(HTTPError) {
      for chunk in chunks {
        parser.receive(chunk)
        while let event = try parser.next() {
          check(parser.lastEventID == event.id, "The last event ID is not the ID of the event.")
          events.append(event)
        }
      }
    } catch {
      self.error = error.code
    }
    lastEventID = parser.lastEventID
    retry = parser.retry
  }
}

private func written(_ event: ServerSentEvent) -> String {
  // Works on scalars, because an LF and a combining mark are one `Character`.
  let lines = event.data.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
  return "id: \(event.id)\nevent: \(event.type)\n" + lines.map { "data: \(String($0))\n" }.joined() + "\n"
}
