import Foundation
import FutureTree
import FutureTreeHTTPTesting

/// A stop of the tram, as the feed reports it.
struct Stop: Codable {
  let number: Int
  let name: String
}

/// A server on loopback that sends one event a stop, and drops each connection after three stops.
final class TramServer: Sendable {
  static let stops = ["Depot", "Harbor", "Fish Market", "Old Town", "Castle", "Museum", "Park", "University"]
  static let lastStopBeforeStall = 5

  private static let path = "/trams/12"
  private let server: LoopbackServer

  /// - Parameter stalls: Whether the feed falls silent after some stops.
  init(stalls: Bool) throws {
    server = try LoopbackServer()
    server.on(TramServer.path) { request in
      let lastID = request.values(for: "Last-Event-ID").first.flatMap { Int($0) } ?? 0
      return TramServer.answer(after: lastID, stalls: stalls)
    }
  }

  var url: String { server.url(TramServer.path) }

  /// Waits until the client has closed the connection.
  func waitForClose() async throws {
    _ = try await server.waitForClose(of: TramServer.path).value
  }

  /// Returns the answer to a client that has received the stops up to this number.
  private static func answer(after lastID: Int, stalls: Bool) -> LoopbackAnswer {
    let next = stops.indices.dropFirst(lastID).prefix(3)
    guard !next.isEmpty else { return .status(204) }
    // The announced length is never reached: a dropped connection, not the end of a body.
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100000\r\n\r\n"
    var steps: [LoopbackStep] = [.send(head + "retry: 200\n\n")]
    for index in next {
      // A pause, so that a terminal shows the progress.
      steps += [.pause(.milliseconds(200)), .send(event(index))]
      if stalls, index + 1 == lastStopBeforeStall { return .steps(steps + [.stall]) }
    }
    let lost = (next.last ?? 0) + 1
    if lost < stops.count { steps.append(.send(String(event(lost).dropLast(2)))) }
    return .steps(steps + [.close])
  }

  private static func event(_ index: Int) -> String {
    let stop = #"{"number": \#(index + 1), "name": "\#(stops[index])"}"#
    return "id: \(index + 1)\nevent: stop\ndata: \(stop)\n\n"
  }
}
