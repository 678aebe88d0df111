import AsyncHTTPClient
import Foundation
import FutureTreeHTTP
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOHTTPCompression
import NIOPosix
import NIOSSL

/// The mapping of the errors of the client and of the libraries below it.
enum ClientErrorTable {
  static func error(_ error: any Error, _ exchange: HTTPExchange) -> HTTPError {
    let url = exchange.request.url
    let peer = url.map { "\($0.host):\($0.port)" } ?? "the server"
    switch error {
    case let error as HTTPError:
      return error
    case let failure as NIOConnectionError where failure.connectionErrors.isEmpty:
      return HTTPError(
        .unknownHost, "The host \(url?.host ?? "") has no address. Check its spelling and the network connection.",
        underlying: error)
    case is NIOConnectionError:
      return HTTPError(
        .cannotConnect, "No server accepts connections at \(peer). Check the port, and whether the server is running.",
        underlying: error)
    case let failure as IOError where !exchange.hasHead && refusals.contains(failure.errnoCode):
      return HTTPError(
        .cannotConnect, "No server accepts connections at \(peer). Check the port, and whether the server is running.",
        underlying: error)
    case let error as HTTPClientError:
      return clientError(error, exchange, peer)
    case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
      return insecure(error, exchange, peer)
    case is NIOHTTPDecompression.DecompressionError:
      return decoding(error)
    case is NIOHTTPDecompression.ExtraDecompressionError:
      return HTTPError(
        .truncatedBody, "The encoded body is incomplete or has data after its end. Load again, or request `identity`.",
        underlying: error)
    case let error as HTTPParserError where error != .invalidEOFState:
      return HTTPError(
        .invalidResponse, "The response from \(peer) is not valid HTTP. Check the port and the server.",
        underlying: error)
    case is NIOHTTP2Errors.StreamClosed, is NIOHTTP2Errors.CreatedStreamAfterGoaway,
      is NIOHTTP2Errors.IOOnClosedConnection:
      return closed(error, exchange, peer)
    case is any NIOHTTP2Error:
      return HTTPError(
        .invalidResponse, "The connection to \(peer) violates HTTP/2. Allow only HTTP/1.1, or fix the server.",
        underlying: error)
    case is HTTPParserError, is IOError, is ChannelError:
      return closed(error, exchange, peer)
    default:
      return HTTPError(.transportFailed, "The transport failed. See `underlying`.", underlying: error)
    }
  }

  /// The errors of a connection that was not established.
  private static let refusals: Set<Int32> = [
    ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL, ETIMEDOUT, ENOENT, EACCES, EPERM,
  ]

  private static func clientError(_ error: HTTPClientError, _ exchange: HTTPExchange, _ peer: String) -> HTTPError {
    switch error {
    case .remoteConnectionClosed, .requestStreamCancelled:
      return closed(error, exchange, peer)
    case .connectTimeout, .getConnectionFromPoolTimeout, .readTimeout, .writeTimeout, .deadlineExceeded,
      .tlsHandshakeTimeout:
      return HTTPError(
        .timedOut, "The connection to \(peer) was not established in time. Load again, or allow more time.",
        underlying: error)
    case .uncleanShutdown:
      return insecure(error, exchange, peer)
    case .invalidProxyResponse, .proxyAuthenticationRequired, .httpProxyHandshakeTimeout, .socksHandshakeTimeout:
      return HTTPError(
        .cannotConnect, "The proxy did not connect to \(peer). Check its address and its credentials.",
        underlying: error)
    case .bodyLengthMismatch:
      return HTTPError(
        .wrongBodyLength, "The body of the request does not have its announced length. Pass the correct length.",
        underlying: error)
    default:
      return HTTPError(.transportFailed, "The transport failed. See `underlying`.", underlying: error)
    }
  }

  private static func closed(_ error: any Error, _ exchange: HTTPExchange, _ peer: String) -> HTTPError {
    exchange.hasHead
      ? HTTPError(
        .truncatedBody, "The body is incomplete. The connection was closed before its end. Load again.",
        underlying: error)
      : HTTPError(
        .connectionLost,
        "The connection to \(peer) was closed before a response arrived. Load again if the request may be sent twice.",
        underlying: error)
  }

  private static func insecure(_ error: any Error, _ exchange: HTTPExchange, _ peer: String) -> HTTPError {
    guard !exchange.hasHead else { return closed(error, exchange, peer) }
    return HTTPError(
      .insecureConnection,
      "No secure connection to \(peer) could be established. Check its certificate, the clock of this device, and whether "
        + "the server supports https on this port.",
      underlying: error)
  }

  /// Returns the error of a body with more than one encoding. The client decodes only the first one.
  static func encodedTwice(_ head: HTTPResponseHead, _ exchange: HTTPExchange) -> HTTPError? {
    guard head.headers[canonicalForm: "Content-Encoding"].count > 1,
      !head.hasNoBody(for: exchange.request.method.name)
    else { return nil }
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
