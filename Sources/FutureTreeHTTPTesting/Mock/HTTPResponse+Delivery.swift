import Foundation
import FutureTreeHTTP

extension HTTPResponse {
  /// Returns a response whose body is where the request wants it: in memory, in a file, or in a stream that has ended.
  ///
  /// Headers that frame the body are checked, as a transport does, if the body is delivered in a file or a stream.
  ///
  /// - Throws: `HTTPError`, as `ResponseReceiver` does.
  func delivered(for request: HTTPRequest) throws(HTTPError) -> HTTPResponse {
    let delivery = request.delivery
    guard case .data(let body) = content, delivery.isStream || delivery.file != nil else { return self }
    var receiver = try ResponseReceiver(for: request, maximumSize: .max, deliversStreams: true)
    guard let response = try receiver.receiveHead(status, headers.map { ($0.name, $0.value) }) else {
      if !body.isEmpty { try receiver.receive(body) }
      return try receiver.finish()
    }
    // An error after the head is an error of the stream.
    do throws(HTTPError) {
      try receiver.receive(body)
    } catch {
      receiver.fail(error)
      return response
    }
    _ = try? receiver.finish()
    return response
  }
}
