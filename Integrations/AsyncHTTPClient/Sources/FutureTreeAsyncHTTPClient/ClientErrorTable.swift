import AsyncHTTPClient
import Foundation
import FutureTreeHTTP
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOHTTPCompression
import NIOPosix
import NIOSOCKS
import NIOSSL

/// The mapping of the errors of the client and of the libraries below it.
struct ClientErrorTable: Sendable {
  private let exchange: HTTPExchange
  private let hasSentHead: Bool
  /// The server, or the socket instead of it.
  private let peer: String

  /// - Parameters:
  ///   - hasSentHead: Whether the head of the request was sent.
  ///   - socketPath: The path of the Unix domain socket.
  init(_ exchange: HTTPExchange, hasSentHead: Bool, socketPath: String?) {
    self.exchange = exchange
    self.hasSentHead = hasSentHead
    let url = exchange.request.url
    peer = socketPath.map { "the socket \($0)" } ?? url.map { "\($0.host):\($0.port)" } ?? "the server"
  }

  func error(_ error: any Error) -> HTTPError {
    switch error {
    case let error as HTTPError:
      return error
    case let failure as NIOConnectionError where failure.connectionErrors.isEmpty:
      return HTTPError(
        .unknownHost, "The host \(failure.host) has no address. Check its spelling and the network connection.",
        underlying: error)
    case let failure as NIOConnectionError:
      return refused(error, by: "\(failure.host):\(failure.port)")  // That of a proxy, if there is one.
    case let failure as IOError where !hasSentHead && ClientErrorTable.refusals.contains(failure.errnoCode):
      return refused(error, by: peer)
    case let error as HTTPClientError:
      return clientError(error)
    case is SOCKSError.ConnectionFailed, is SOCKSError.NoValidAuthenticationMethod,
      is SOCKSError.InvalidAuthenticationSelection, is SOCKSError.InvalidProtocolVersion,
      is SOCKSError.InvalidReservedByte, is SOCKSError.InvalidAddressType:
      return proxy(error)
    case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
      return insecure(error)
    case is NIOHTTPDecompression.DecompressionError:
      return ClientErrorTable.decoding(error)
    case is NIOHTTPDecompression.ExtraDecompressionError:
      return HTTPError(
        .truncatedBody, "The encoded body is incomplete or has data after its end. Load again, or request `identity`.",
        underlying: error)
    case let error as HTTPParserError where error != .invalidEOFState:
      return HTTPError(
        .invalidResponse, "The response from \(peer) is not valid HTTP. Check the port and the server.",
        underlying: error)
    case _ where ClientErrorTable.isOfClosedConnection(error):
      return closed(error)
    case is any NIOHTTP2Error:
      return HTTPError(
        .invalidResponse, "The connection to \(peer) violates HTTP/2. Allow only HTTP/1.1, or fix the server.",
        underlying: error)
    default:
      return HTTPError(.transportFailed, "The transport failed. See `underlying`.", underlying: error)
    }
  }

  /// Returns whether the error means that a connection, or a stream of HTTP/2, was closed.
  static func isOfClosedConnection(_ error: any Error) -> Bool {
    switch error {
    case let error as HTTPParserError: error == .invalidEOFState
    case NIOSSLError.uncleanShutdown, is IOError, is ChannelError, is NIOHTTP2Errors.StreamClosed,
      is NIOHTTP2Errors.CreatedStreamAfterGoaway, is NIOHTTP2Errors.IOOnClosedConnection:
      true
    default: false
    }
  }

  /// The errors of a connection that was not established.
  private static let refusals: Set<Int32> = [
    ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL, ETIMEDOUT, ENOENT, EACCES, EPERM,
  ]

  private func refused(_ error: any Error, by peer: String) -> HTTPError {
    HTTPError(
      .cannotConnect, "No server accepts connections at \(peer). Check the address, and whether the server is running.",
      underlying: error)
  }

  private func proxy(_ error: any Error) -> HTTPError {
    HTTPError(
      .cannotConnect, "The proxy did not connect to \(peer). Check its address and its credentials.", underlying: error)
  }

  private func clientError(_ error: HTTPClientError) -> HTTPError {
    switch error {
    case .remoteConnectionClosed, .requestStreamCancelled:
      return closed(error)
    case .connectTimeout, .getConnectionFromPoolTimeout, .readTimeout, .writeTimeout, .deadlineExceeded,
      .tlsHandshakeTimeout:
      return HTTPError(
        .timedOut, "The connection to \(peer) was not established in time. Load again, or allow more time.",
        underlying: error)
    case .uncleanShutdown:
      return insecure(error)
    case .invalidProxyResponse, .proxyAuthenticationRequired, .httpProxyHandshakeTimeout, .socksHandshakeTimeout:
      return proxy(error)
    case .bodyLengthMismatch:
      return HTTPError(
        .wrongBodyLength, "The body of the request does not have its announced length. Pass the correct length.",
        underlying: error)
    default:
      return HTTPError(.transportFailed, "The transport failed. See `underlying`.", underlying: error)
    }
  }

  private func closed(_ error: any Error) -> HTTPError {
    if exchange.hasHead {
      return HTTPError(
        .truncatedBody, "The body is incomplete. The connection was closed before its end. Load again.",
        underlying: error)
    }
    guard hasSentHead else {
      return HTTPError(
        .cannotConnect, "The connection to \(peer) was closed before the request was sent. Load again.",
        underlying: error)
    }
    return HTTPError(
      .connectionLost,
      "The connection to \(peer) was closed before a response arrived. Load again if the request may be sent twice.",
      underlying: error)
  }

  private func insecure(_ error: any Error) -> HTTPError {
    guard !exchange.hasHead else { return closed(error) }
    return HTTPError(
      .insecureConnection,
      "No secure connection to \(peer) could be established. Check its certificate, the clock of this device, and whether "
        + "the server supports https on this port.",
      underlying: error)
  }

  /// Returns the error of a body with an encoding that the client does not decode, although it can. It decodes only the first one.
  static func encodedTwice(_ head: HTTPResponseHead, _ exchange: HTTPExchange) -> HTTPError? {
    let encodings = head.headers[canonicalForm: "Content-Encoding"].map { $0.lowercased() }
    let others = encodings.dropFirst().filter { $0 != "identity" }
    let decodable: Set = ["gzip", "deflate"]
    let isLeft =
      decodable.contains(encodings.first ?? "") ? !others.isEmpty : others.contains(where: decodable.contains)
    guard isLeft, !head.hasEmptyBody(for: exchange.request.method.name) else { return nil }
    return HTTPError(
      .encodedBody, "The body has more than one encoding. Request the encoding `identity`, or fix the server.")
  }

  private static func decoding(_ error: any Error) -> HTTPError {
    if case .limit? = error as? NIOHTTPDecompression.DecompressionError {
      return HTTPError(
        .bodyTooLarge,
        "The body decodes to far more bytes than were sent. Raise `maximumDecodingRatio` if you trust it.",
        underlying: error)
    }
    return HTTPError(
      .encodedBody, "The body could not be decoded. The server sent invalid data. Request the encoding `identity`.",
      underlying: error)
  }
}
