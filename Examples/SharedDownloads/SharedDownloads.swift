// Twelve people download three files. Each file is downloaded once.
//
//   swift run SharedDownloads                   ends by itself, within seconds
//   swift run SharedDownloads --stall server    the server stops after a quarter; one control-C ends the program
//   swift run SharedDownloads --stall disk      the disk does not respond; one control-C requests the end, a second forces it
//
// The example shows:
//   - `SingleFlight`: twelve loads become three requests. If one person leaves, the cancellation request is withheld, because
//     others wait. If the last person leaves, the download is cancelled, and its connection closes. Other downloads continue.
//   - Control-C as a cancellation request: it cancels the root of the tree, which waits for clean-up and uninterruptible work.
//   - A second control-C as force: `.forceImmediately` does not wait. Both end with the exit code 130.
//
// Expected output: three bars that grow in a terminal, or the lines of `expected.txt` if the output is not a terminal. The four
// people who want harbour.jpg leave one by one. Then the line "the client closed the connection of harbour.jpg" appears.
// Ada leaves atlas.pdf, which three others receive. Control-C ends the program at any time. No internet connection is needed:
// the server runs on loopback.

import ExampleSupport
import Foundation
import FutureTree
import FutureTreeHTTP

@main struct SharedDownloads {
  static func main() async throws {
    guard let stall = Stall(arguments: CommandLine.arguments.dropFirst()) else {
      print("usage: SharedDownloads [--stall server | --stall disk]")
      exit(64)
    }
    let (server, screen) = (try FileServer(ServedFile.all), Screen())
    let office = try Office(
      server: server, loader: SystemLoader(), disk: Disk(isStuck: stall == .disk), screen: screen)
    let everybody = Future.allSettled(office.waiters.map(\.copy)).named("everybody")

    let signals = ProcessSignals()
    signals.token.register { reason in
      screen.title("Control-C: every download receives a cancellation request. Press it again to force the end")
      screen.line("receipt: \(everybody.cancel(reason: reason))")
    }
    signals.forceToken.register { reason in
      screen.title("Control-C again: forced cancellation")
      everybody.cancel(.forceImmediately, reason: reason)
    }
    let script = Future.task { try await play(server, office, stall) }
    script.cancel(when: signals.token)
    _ = await script.outcome
    _ = await everybody.outcome
    try await report(office, server)
    if let code = signals.exitCode { exit(code) }
  }

  /// Runs the steps of the example when nobody presses control-C.
  private static func play(_ server: FileServer, _ office: Office, _ stall: Stall) async throws {
    let (atlas, harbour, notes) = (ServedFile.all[0], ServedFile.all[1], ServedFile.all[2])
    let screen = office.screen
    screen.title("Twelve people download three files")
    let paths = try await server.waitForRequests(for: ServedFile.all)
    screen.line("the server received \(paths.count) requests: \(paths.joined(separator: " "))")

    screen.title("A quarter of each file arrives")
    try await office.receive(piece: 1, of: ServedFile.all, from: server)
    if stall == .server { try await wait(screen, "The server stalls. Press control-C") }

    screen.title("All four people who wait for harbour.jpg cancel, one after the other")
    for waiter in office.waiters(for: harbour) {
      office.leave(waiter)
      try await Future.after(.milliseconds(200)).value
    }
    try await server.waitForClose(of: harbour)
    screen.change(harbour.name) { $0.note = "cancelled" }
    screen.line("the client closed the connection of harbour.jpg")

    screen.title("One of the people who wait for atlas.pdf cancels")
    for waiter in office.waiters(for: atlas).prefix(1) { office.leave(waiter) }

    screen.title("The other downloads continue")
    for piece in 2...ServedFile.pieceCount { try await office.receive(piece: piece, of: [atlas, notes], from: server) }
    if stall == .disk {
      try await office.disk.begun.reached(office.waiters.count { !$0.copy.isCompleted }).value
      try await wait(screen, "The disk does not respond. Press control-C")
    }
  }

  private static func wait(_ screen: Screen, _ title: String) async throws {
    screen.title(title)
    try await Future.after(.seconds(3_600)).value
  }

  private static func report(_ office: Office, _ server: FileServer) async throws {
    let screen = office.screen
    screen.leaveBars()
    screen.title("Outcomes")
    for waiter in office.waiters {
      let end =
        switch waiter.copy.outcomeIfCompleted {
        case .success(let bytes): "\(bytes) bytes of \(waiter.file.name)"
        case .failure(let error): "failed: \(error)"
        case .cancelled(let reason): "nothing: \(reason.message)"
        case nil: "is still being written, without a consumer"
        }
      screen.line(waiter.name + String(repeating: " ", count: 6 - waiter.name.count) + end)
    }
    let closed = try await server.closedEarly().map(\.name)
    screen.line("connections closed early, as seen by the server: \(closed.joined(separator: " "))")
  }
}

/// The part that stalls, so that there is time to press control-C.
enum Stall: String {
  case nothing, server, disk

  init?(arguments: some Collection<String>) {
    let arguments = Array(arguments)
    switch arguments.count {
    case 0: self = .nothing
    case 2 where arguments[0] == "--stall": self.init(rawValue: arguments[1])
    default: return nil
    }
  }
}
