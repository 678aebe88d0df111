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
  /// frames the body itself. The response to `HEAD` keeps the length.
  ///
  /// A stream is sent while it arrives: the next chunk is read when the client has room for the previous one. If the client
  /// leaves, or the deadline of the request passes, its transfer receives a cancellation request. If the transfer does not
  /// succeed, the connection is closed before the end of the body. A file is sent in chunks, and is not deleted. If its size has
  /// changed, the connection is closed.
  public func response(from request: Request, context: some RequestContext) throws -> Response {
    var fields = forwardedFields
    guard request.method != .head else {
      fields[.contentLength] = headers["Content-Length"]
      return Response(status: .init(code: status.code), headers: fields)
    }
    return Response(status: .init(code: status.code), headers: fields, body: sentBody(for: context))
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
      return ResponseBody { writer in
        let transfer = chunks.transfer
        let watch = incoming?.whenClientLeaves { transfer.cancel(reason: $0) }
        let timer = incoming?.deadline.map { deadline in
          deadline.clock.schedule(after: max(deadline.remaining, .zero)) {
            transfer.cancel(reason: "the deadline of the request passed")
          }
        }
        defer {
          watch?.end()
          timer?.cancel()
        }
        try await writer.write(all: chunks)
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
