import FutureTree
import FutureTreeHTTP
import HTTPTypes
import Hummingbird
import NIOCore

// The developers of `HTTPResponse` maintain this package too, so no other conformance can follow.
// swift-format-ignore: AvoidRetroactiveConformances
extension FutureTreeHTTP.HTTPResponse: @retroactive ResponseGenerator {
  /// Returns a response with the status, the header fields and the body.
  ///
  /// Fields for one connection (RFC 9110, section 7.6.1) and fields that frame the body are omitted, because the server
  /// frames the body itself. A 204 or a 304 has no body. The response to `HEAD` has the length that the response to `GET` would
  /// have. If that is not known, its length is 0, because the server would send chunks otherwise.
  ///
  /// A stream is sent while it arrives: the next chunk is read when the client has room for the previous one. If the context is
  /// a ``FutureRequestContext``, its transfer receives a cancellation request when the client disconnects, after the drain
  /// of a shutdown, and when the deadline of the request passes, which also closes the connection. If the transfer does not
  /// succeed, the connection is closed before the end of the body. A file is sent in chunks, and is not deleted. If its size
  /// has changed, the connection is closed.
  ///
  /// - Throws: Hummingbird's `HTTPError` with the status 502 if the status is not one of a final response (200 to 999).
  public func response(from request: Request, context: some RequestContext) throws -> Response {
    guard (200...999).contains(status.code) else { throw Hummingbird.HTTPError(.badGateway) }
    let status = HTTPTypes.HTTPResponse.Status(code: status.code)
    var fields = forwardedFields
    guard !self.status.hasNoBody else {
      // A body of unknown length, so that HTTP/2 sends no length.
      return Response(status: status, headers: fields, body: ResponseBody { try await $0.finish(nil) })
    }
    guard request.method != .head else {
      fields[.contentLength] = knownSize.map { "\($0)" } ?? headers["Content-Length"]
      return Response(status: status, headers: fields)
    }
    return Response(status: status, headers: fields, body: sentBody(for: context))
  }

  /// The size of a body in memory or in a file. `nil` for a stream, and for an empty body, which can be that of a HEAD.
  private var knownSize: Int? {
    switch content {
    case .data(let data): data.isEmpty ? nil : data.count
    case .file(_, let size): size
    case .stream: nil
    }
  }

  private var forwardedFields: HTTPFields {
    let omitted = Self.omittedNames.union(headers.elements(of: "connection").map { $0.lowercased() })
    var fields = HTTPFields()
    for field in headers where !omitted.contains(field.name.lowercased()) {
      guard let name = HTTPField.Name(field.name) else { continue }  // Never: both types accept only tokens.
      fields.append(HTTPField(name: name, value: field.value))
    }
    return fields
  }

  private static let omittedNames: Set<String> = [
    "connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
  ]

  private func sentBody(for context: some RequestContext) -> ResponseBody {
    switch content {
    case .data(let data):
      return data.isEmpty ? ResponseBody() : ResponseBody(byteBuffer: ByteBuffer(bytes: data))
    case .file(_, let size):
      let chunks = bodyStream
      return ResponseBody(contentLength: size) { try await $0.write(all: chunks, size: size) }
    case .stream(let chunks):
      let incoming = (context as? any FutureRequestContext)?.incoming
      let timer = incoming.flatMap { Self.limit(chunks.transfer, $0) }
      return ResponseBody { writer in
        defer { timer?.cancel() }
        guard let incoming else { return try await writer.write(all: chunks) }
        try await incoming.shuttingDownWithServer { try await writer.write(all: chunks) }
      }
    }
  }

  /// Cancels a transfer when the client disconnects, when the deadline passes, and at a shutdown.
  ///
  /// - Returns: The timer of the deadline. It also closes the connection, because a client that does not read would keep it.
  private static func limit(_ transfer: Future<Void>, _ incoming: IncomingRequest) -> FutureTimer? {
    let watch = incoming.whenClientDisconnects { transfer.cancel(reason: $0) }
    transfer.observe { _ in watch.end() }
    incoming.work?.addTransfer(transfer)
    return incoming.deadline.map { deadline in
      deadline.clock.schedule(after: max(deadline.remaining, .zero)) {
        transfer.cancel(reason: CancellationReason("the deadline of the request passed", kind: .deadline))
        incoming.channel.close(promise: nil)
      }
    }
  }
}

extension ResponseBodyWriter {
  /// Writes all chunks, and throws before it writes more bytes than `size`, or if there are fewer.
  fileprivate mutating func write(all chunks: HTTPBodyStream, size: Int? = nil) async throws {
    var remaining = size
    for try await chunk in chunks {
      remaining? -= chunk.count
      guard remaining ?? 0 >= 0 else { break }
      try await write(ByteBuffer(bytes: chunk))
    }
    guard remaining ?? 0 == 0 else {
      throw FutureTreeHTTP.HTTPError(
        .unreadableBody, "The size of the file has changed. Do not write to a file that is sent.")
    }
    try await finish(nil)
  }
}
