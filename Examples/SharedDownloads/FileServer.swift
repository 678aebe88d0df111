import FutureTree
import FutureTreeHTTPTesting

/// A file that is sent in four pieces, which the example releases.
struct ServedFile: Sendable {
  static let pieceCount = 4
  static let all = [
    ServedFile(name: "atlas.pdf", size: 256 << 10),
    ServedFile(name: "harbour.jpg", size: 128 << 10),
    ServedFile(name: "notes.txt", size: 64 << 10),
  ]

  let name: String
  let size: Int

  var path: String { "/" + name }
  var pieceSize: Int { size / Self.pieceCount }
}

/// A server on loopback with a gate before each piece of a file.
final class FileServer: Sendable {
  private let server: LoopbackServer
  private let gates: [String: [LoopbackGate]]

  init(_ files: [ServedFile]) throws {
    server = try LoopbackServer()
    gates = Dictionary(
      uniqueKeysWithValues: files.map { ($0.name, (0..<ServedFile.pieceCount).map { _ in LoopbackGate() }) })
    for file in files { server.on(file.path, .steps(steps(for: file))) }
  }

  /// Returns the steps of a file. A piece is sent slowly, so that a terminal shows its bar grow.
  private func steps(for file: ServedFile) -> [LoopbackStep] {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: \(file.size)\r\n\r\n"
    let piece = [UInt8](repeating: 0x2E, count: file.pieceSize)
    return [.send(head)]
      + (gates[file.name] ?? []).flatMap { gate in
        [.hold(gate), .drip(piece, chunk: piece.count / 8, every: .milliseconds(30))]
      }
  }

  func url(of file: ServedFile) -> String { server.url(file.path) }

  /// Releases a piece of a file. Pieces are numbered from 1.
  func send(piece: Int, of file: ServedFile) {
    gates[file.name]?[piece - 1].open()
  }

  /// Waits until all these files have been requested, and returns the requested paths, as recorded by the server.
  func waitForRequests(for files: [ServedFile]) async throws -> [String] {
    for file in files { _ = try await server.waitForRequest(to: file.path).value }
    return server.requests.map(\.path).sorted()
  }

  /// Waits until the client has closed the connection of this file.
  func waitForClose(of file: ServedFile) async throws {
    _ = try await server.waitForClose(of: file.path).value
  }

  /// Returns the files whose last piece was not sent, once the client has closed their connections.
  func closedEarly() async throws -> [ServedFile] {
    let files = ServedFile.all.filter { file in
      gates[file.name]?.last?.isOpen == false && server.record.hasRequest(to: file.path)
    }
    for file in files { try await waitForClose(of: file) }
    return files
  }
}
