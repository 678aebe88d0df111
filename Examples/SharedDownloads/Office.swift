import FutureTree
import FutureTreeHTTP
import Synchronization

/// Somebody who waits for a file.
struct Waiter: Sendable {
  let name: String
  let file: ServedFile
  /// The bytes that were written for this one.
  let copy: Future<Int>
}

/// Twelve people who want three files: who wants a file that is already on its way joins those who wait for it.
final class Office: Sendable {
  let waiters: [Waiter]
  let disk: Disk
  let screen: Screen
  /// How many bytes of each file have come, by name.
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
    request[option: ProgressHandler.self] = { progress in
      screen.change(file.name) { $0.percent = progress.received.completed * 100 / file.size }
      arrived?.advance(to: progress.received.completed)
    }
    return request
  }

  /// Who waits for a file and has not left.
  func waiters(for file: ServedFile) -> [Waiter] {
    waiters.filter { $0.file.name == file.name && !$0.copy.isCompleted }
  }

  /// One waiter leaves. The download goes on while others wait for it.
  func leave(_ waiter: Waiter) {
    let receipt = waiter.copy.cancel(reason: "went home")
    screen.change(waiter.file.name) { $0.waiting -= 1 }
    screen.line("\(waiter.name) leaves \(waiter.file.name): \(receipt)")
  }

  /// Lets a piece of each of these files go, and ends when it is there.
  func receive(piece: Int, of files: [ServedFile], from server: FileServer) async throws {
    for file in files { server.send(piece: piece, of: file) }
    for file in files { try await arrived[file.name]?.reached(piece * file.pieceSize).value }
    screen.report()
  }
}
