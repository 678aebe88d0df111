import FutureTree
import FutureTreeHTTP
import Synchronization

/// A person who waits for a file.
struct Waiter: Sendable {
  let name: String
  let file: ServedFile
  /// A future of the number of bytes written for this person.
  let copy: Future<Int>
}

/// Twelve people who request three files. A request for a file that is already loading joins the load in flight.
final class Office: Sendable {
  let waiters: [Waiter]
  let disk: Disk
  let screen: Screen
  /// The number of bytes received of each file, by name.
  let arrived: [String: Milestones]

  init(server: FileServer, loader: any HTTPLoader, disk: Disk, screen: Screen) throws {
    let arrived = Dictionary(uniqueKeysWithValues: ServedFile.all.map { ($0.name, Milestones()) })
    let downloads = SingleFlight<String, HTTPResponse>()
    let names = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ivo", "Jo", "Kim", "Leo"]
    screen.show(ServedFile.all.map { Screen.Bar(name: $0.name, waiting: names.count / ServedFile.all.count) })
    waiters = names.enumerated().map { index, name in
      let file = ServedFile.all[index % ServedFile.all.count]
      let copy = downloads.load(file.name) {
        loader.load(try Self.request(for: file, from: server, arrived[file.name], screen))
      }
      return Waiter(
        name: name, file: file,
        copy: copy.onSuccess { response in disk.write(response.bodySize) }.named(name))
    }
    self.disk = disk
    self.screen = screen
    self.arrived = arrived
  }

  private static func request(
    for file: ServedFile, from server: FileServer, _ arrived: Milestones?, _ screen: Screen
  ) throws -> HTTPRequest {
    var request = try HTTPRequest(server.url(of: file))
    request.progress = { progress in
      screen.change(file.name) { $0.percent = progress.received.completed * 100 / file.size }
      arrived?.advance(to: progress.received.completed)
    }
    return request
  }

  /// Returns the people who wait for a file and have not left.
  func waiters(for file: ServedFile) -> [Waiter] {
    waiters.filter { $0.file.name == file.name && !$0.copy.isCompleted }
  }

  /// Cancels the load of one person. The download continues while other people wait for it.
  func leave(_ waiter: Waiter) {
    let receipt = waiter.copy.cancel(reason: "went home")
    screen.change(waiter.file.name) { $0.waiting -= 1 }
    screen.line("\(waiter.name) cancels \(waiter.file.name): \(receipt)")
  }

  /// Releases a piece of each of these files, and waits until it has arrived.
  func receive(piece: Int, of files: [ServedFile], from server: FileServer) async throws {
    for file in files { server.send(piece: piece, of: file) }
    for file in files { try await arrived[file.name]?.reached(piece * file.pieceSize).value }
    screen.report()
  }
}
