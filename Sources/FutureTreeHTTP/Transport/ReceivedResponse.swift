import Foundation
import FutureTree

/// The receiver of an exchange.
final class ReceivedResponse: @unchecked Sendable {
  // Because: `ExchangeState` runs one piece of work at a time, and ends only when no work is running.
  private var receiver: ResponseReceiver?

  init(_ receiver: consuming ResponseReceiver) {
    self.receiver = consume receiver
  }

  /// The writer of a stream, after its head.
  var writer: HTTPBodyWriter? { receiver?.writer }

  func pass(_ work: HTTPExchange.Work) throws(HTTPError) -> (HTTPResponse?, HTTPProgress.Part) {
    let response = try work(&receiver!)
    return (response, receiver?.received ?? HTTPProgress.Part())
  }

  func finish() throws(HTTPError) -> HTTPResponse {
    try receiver.take()!.finish()
  }

  func end(_ outcome: Outcome<Void>) {
    receiver.take()?.end(outcome)
  }
}
