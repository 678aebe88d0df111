import Foundation
import FutureTree
import FutureTreeHTTP

/// The reading of streams.
extension SimulationRun {
  func read(_ response: HTTPResponse, _ load: SimulatedLoad) {
    let transfer = response.transfer
    // S6 (never shared)
    if !transfer.isCompleted, let other = loads.values.first(where: { $0.transfer == transfer }) {
      report("Never shared: loads \(other.load.number) and \(load.number) have the same stream.")
    }
    loads[load.number]?.transfer = transfer
    switch load.reading {
    case .cancels:
      at(world.clock.now + .milliseconds(300)) { transfer.cancel(reason: "the simulation") }
    case .ignores: break
    case .reads, .leaves:
      let reader = Locked(StreamReader(iterator: response.bodyStream.makeAsyncIterator()))
      poll(reader, response, load)
    }
  }

  private struct StreamReader {
    var iterator: HTTPBodyStream.Iterator?
    var body = Data()

    init(iterator: HTTPBodyStream.Iterator) { self.iterator = iterator }
  }

  /// Reads what has arrived, and again later. A reader that leaves does so after its first bytes.
  private func poll(_ reader: Locked<StreamReader>, _ response: HTTPResponse, _ load: SimulatedLoad) {
    var hasEnded = false
    guard var iterator = reader.value.iterator else { return }
    do {
      reading: while true {
        switch try iterator.nextAvailable() {
        case .chunk(let bytes): reader.withLock { $0.body += bytes }
        case .end:
          hasEnded = true
          check(reader.value.body, of: response, load)
          break reading
        case .nothing: break reading
        }
      }
    } catch {
      hasEnded = true
      checkSecrets("\(error)", "the error of the stream of load \(load.number)")
    }
    if hasEnded || load.reading == .leaves && !reader.value.body.isEmpty {
      reader.withLock { $0.iterator = nil }
      return
    }
    at(world.clock.now + .milliseconds(100)) { self.poll(reader, response, load) }
  }
}
