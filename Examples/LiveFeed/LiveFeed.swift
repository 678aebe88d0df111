// Follows a tram by a feed of server-sent events. The server drops every connection after three stops.
//
//   swift run LiveFeed            ends by itself, within seconds: the server answers with 204 after the last stop
//   swift run LiveFeed --stall    the feed falls silent after five stops; control-C ends the program, with the exit code 130
//
// The example shows:
//   - `api.events`: one loop over the events of several connections. Each connection continues after the last event, which the
//     client names in the field `Last-Event-ID`. An event whose connection is lost in the middle is received whole, once.
//   - A layer that sees every connection of the feed as one load.
//   - Control-C as a cancellation request to `transfer`, the future of the whole feed. The connection is closed, and the loop
//     ends with the reason of the request.
//
// Expected output: in a terminal a line of progress, otherwise the lines of `expected.txt`. No internet connection is needed:
// the server runs on loopback.

import ExampleSupport
import Foundation
import FutureTree
import FutureTreeHTTP

@main struct LiveFeed {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard arguments.isEmpty || arguments == ["--stall"] else {
      print("usage: LiveFeed [--stall]")
      exit(64)
    }
    let stalls = !arguments.isEmpty
    let (server, screen) = (try TramServer(stalls: stalls), Screen())
    let api = ConnectionNotes(screen: screen) --> SystemLoader()
    let events = api.events { try HTTPRequest(server.url) }

    let (signals, receipt) = (ProcessSignals(), Promise<Void>())
    signals.token.register { reason in
      screen.title("Control-C: the feed receives a cancellation request")
      screen.line("receipt: \(events.transfer.cancel(reason: reason))")
      receipt.succeed()
    }

    screen.title("Tram 12 leaves the depot")
    let end = await follow(events, on: screen, stalls: stalls)
    if signals.token.isCancelling { _ = await receipt.future.outcome }

    screen.leaveProgress()
    screen.title("Outcome")
    screen.line("the loop ended \(end)")
    switch await events.transfer.outcome {
    case .success: screen.line("the transfer succeeded")
    case .failure(let error): screen.line("the transfer failed: \(error)")
    case .cancelled(let reason): screen.line("the transfer was cancelled: \(reason.message)")
    }
    if let code = signals.exitCode {
      try await server.waitForClose()
      screen.line("the client closed the connection, as seen by the server")
      exit(code)
    }
  }

  /// Shows the stops of the feed. Returns how the loop ended.
  private static func follow(_ events: ServerSentEvents, on screen: Screen, stalls: Bool) async -> String {
    do {
      for try await event in events where event.type == "stop" {
        let stop = try JSONDecoder().decode(Stop.self, from: Data(event.data.utf8))
        screen.show(stop)
        if stalls, stop.number == TramServer.lastStopBeforeStall {
          screen.title("The feed is silent. Press control-C")
        }
      }
      return "after the last event"
    } catch let cancelled as FutureCancelled {
      return "with the reason of a cancellation: \(cancelled.reason.message)"
    } catch {
      return "with an error: \(error)"
    }
  }
}
