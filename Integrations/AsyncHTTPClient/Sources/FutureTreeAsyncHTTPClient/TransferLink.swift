import FutureTreeHTTP
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Passes what the client does not pass between a connection and the `Transfer` of each request: the connection itself, the steps,
/// interim responses, and the fields after both bodies.
///
/// The client takes nothing of a caller along to a connection but the head of the request. So the head has a field with the number of the
/// transfer, which is removed here. `EarlyResponseHandler` calls it: a handler of its own would convert each part once more, at the cost
/// of a thousand instructions.
final class TransferLink {
  /// The name of the field with the number of the transfer.
  static let field = "FutureTree-Transfer"

  private let transfers: Transfers
  private let isHTTP2: Bool
  /// The facts of the connection, when the first response has arrived.
  private var connection: HTTPTimings?
  private var transfer: Transfer?
  /// The number of requests before this one.
  private var earlierCount = -1

  init(_ transfers: Transfers, isHTTP2: Bool) {
    self.transfers = transfers
    self.isHTTP2 = isHTTP2
  }

  /// Registers a part of a request that is about to be written.
  ///
  /// - Returns: The part to write in its place, or `nil` if it stays as it is.
  func writes(_ part: HTTPClientRequestPart) -> HTTPClientRequestPart? {
    switch part {
    case .head(var head):
      transfer = head.headers.first(name: TransferLink.field).flatMap { UInt($0) }.flatMap { transfers[$0] }
      earlierCount += 1
      head.headers.remove(name: TransferLink.field)
      transfer?.begins()
      return .head(head)
    case .body: return nil
    case .end:
      transfer?.requestEnds()
      return transfer?.trailersToSend.map { .end($0) }
    }
  }

  /// Registers a part of a response that has arrived.
  func reads(_ part: HTTPClientResponsePart, on channel: any Channel) {
    switch part {
    case .head(let head) where head.status.code < 200 && head.status != .switchingProtocols:
      transfer?.receives(interim: head)
    case .head(let head):
      var connection = self.connection ?? connection(channel, head.version)
      if !isHTTP2 { connection.isConnectionReused = earlierCount > 0 }
      self.connection = connection
      transfer?.receivesHead(over: connection)
    case .body: break
    case .end(let trailers):
      transfer?.receives(trailers)
      transfer = nil
    }
  }

  /// Registers that the connection was closed.
  func end() { transfer = nil }

  /// Returns timings with the facts of the connection, and without times.
  private func connection(_ channel: any Channel, _ version: HTTPVersion) -> HTTPTimings {
    let address = channel.remoteAddress ?? channel.parent?.remoteAddress
    var timings = HTTPTimings()
    timings.protocolVersion = isHTTP2 ? "2" : "\(version.major).\(version.minor)"
    timings.peerAddress = address?.ipAddress
    timings.peerPort = address?.ipAddress == nil ? nil : address?.port.flatMap(UInt16.init(exactly:))
    if isHTTP2 {
      let stream = try? channel.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)
      timings.isConnectionReused = stream.map { $0 > 1 }  // The first one is 1 (RFC 9113, section 5.1.1).
    }
    return timings
  }
}

/// The requests of a client that have not ended, by their numbers.
final class Transfers: Sendable {
  private let live = NIOLockedValueBox<[UInt: Transfer]>([:])

  /// Adds a transfer, and returns its number.
  func add(_ transfer: Transfer) -> UInt {
    let number = Transfers.number(of: transfer)
    live.withLockedValue { $0[number] = transfer }
    return number
  }

  func remove(_ transfer: Transfer) {
    _ = live.withLockedValue { $0.removeValue(forKey: Transfers.number(of: transfer)) }
  }

  subscript(number: UInt) -> Transfer? { live.withLockedValue { $0[number] } }

  /// The address, which no other transfer has while this one is here.
  private static func number(of transfer: Transfer) -> UInt { UInt(bitPattern: ObjectIdentifier(transfer)) }
}
