import AsyncHTTPClient
import FutureTree
import NIOConcurrencyHelpers
import NIOCore

/// The client of a loader. It is shut down when the loader and all its requests have released it.
final class Client: Sendable {
  let group: any EventLoopGroup
  let transfers = Transfers()
  private let client: HTTPClient
  private let wasShutDown = NIOLockedValueBox(false)

  init(_ group: any EventLoopGroup, _ configuration: AsyncHTTPClientLoader.Configuration) {
    self.group = group
    client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration.settings(transfers))
  }

  deinit {
    if !isShutDown { client.shutdown { _ in } }
  }

  /// Whether no request may begin.
  var isShutDown: Bool { wasShutDown.withLockedValue { $0 } }

  func execute(_ request: HTTPClient.Request, _ transfer: Transfer, on loop: any EventLoop) -> HTTPClient.Task<Void> {
    client.execute(request: request, delegate: transfer, eventLoop: .delegate(on: loop))
  }

  /// Prevents further requests. Returns whether this call was the first.
  func refuse() -> Bool {
    wasShutDown.withLockedValue { wasShutDown in
      defer { wasShutDown = true }
      return !wasShutDown
    }
  }

  /// Closes all connections. No request may be in flight.
  func close() -> Future<Void> {
    Future.wrapping { [client] completion in
      client.shutdown { error in completion(error.map { .failure($0) } ?? .success(())) }
    }
  }
}
