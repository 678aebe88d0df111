import Foundation
import FutureTree

// The events that a transport reports.

extension HTTPExchange {
  /// Reports the head of a response.
  ///
  /// The status 101 fails the load with the code `invalidResponse`. Other informational heads (100 to 199) are ignored, because
  /// the final response follows.
  ///
  /// - Parameters:
  ///   - status: The status code.
  ///   - fields: The header fields in order, as received.
  public func receiveHead(_ status: HTTPStatus, _ fields: some Sequence<(name: String, value: String)>) {
    receiveHead(status) { receiver throws(HTTPError) in try receiver.receiveHead(status, fields) }
  }

  func receiveHead(_ status: HTTPStatus, _ work: Work) {
    let now = now
    act { receiver throws(HTTPError) in
      let response = try work(&receiver)
      receiver.writer?.onStop { [weak self] in self?.act { $0.cancelAsked(byStream: true) } }
      return response
    } _: {
      $0.headArrived(status, now: now)
    }
  }

  /// Reports the next bytes of the body.
  ///
  /// - Returns: A future if the reader of a stream is behind. A transport that can pause reads no more bytes until it has
  ///   completed. The idle timeout is suspended until then.
  @discardableResult
  public func receive(_ bytes: Data) -> Future<Void>? {
    let now = now
    var room: Future<Void>?
    let pass: Work = { receiver throws(HTTPError) in
      try receiver.receive(bytes)
      room = receiver.writer.flatMap { $0.hasRoom ? nil : $0.room() }
      return nil
    }
    act(pass) { $0.dataArrived(now: now) }
    if let room, guarded.withLock({ $0.state.paused() }) {
      room.observe { [weak self] _ in
        guard let self else { return }
        let now = self.now
        guarded.withLock { $0.state.resumed(now: now) }
      }
    }
    return room
  }

  /// Reports that `count` bytes of the request's body have been sent in total.
  public func bodySent(_ count: Int) {
    let now = now
    act { $0.bodySent(count, now: now) }
  }

  /// Fails the load because the request cannot be sent, or only in part. The transport is stopped.
  public func fail(_ error: HTTPError) {
    act { $0.requestFailed(error) }
  }

  /// Reports that the transport has ended and holds nothing for the load. Call it once.
  ///
  /// A response with the end `completed` is a success only if its body is whole.
  public func end(_ end: End) {
    act { $0.transportEnded(end) }
    guarded.release { guarded in
      guarded.hasTransportEnded = true
      return guarded.stopTransport.take()
    }
    confirmation.succeed(())
  }
}
