import AsyncHTTPClient
import Foundation
import FutureTree
import FutureTreeAsyncHTTPClient
import FutureTreeHTTP
import NIOCore
import NIOHTTP1
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// All contenders: AsyncHTTPClient, the steps from it to the loader, and what users build from the loader.
struct Contenders {
  let group: any EventLoopGroup
  let url: String

  var all: [Contender] { overEventLoops + overCurl }

  private var overEventLoops: [Contender] {
    [
      bare("AsyncHTTPClient, futures"),
      bare("AsyncHTTPClient with decompression, futures", decompression: .enabled(limit: .ratio(1000))),
      bareWithAwait("AsyncHTTPClient, `await`"),
      task("step 1: `await` in a task of a future"),
      delegate("step 2: a delegate that completes a promise"),
      over("the loader, futures"),
      overWithAwait("the loader, `await`"),
      over("the loader behind five layers") { transport in
        ResetGuard() --> Autocancel() --> Retry() --> Throttle(1000) --> Redirect() --> transport
      },
      bareURLSession("`URLSession`, data tasks"),
      overURLSession("`URLSessionLoader`"),
    ]
  }
}

// MARK: - The client

extension Contenders {
  private typealias Completion = @Sendable (Int) -> Void

  private func bare(_ name: String, decompression: HTTPClient.Decompression = .disabled) -> Contender {
    overClient(name, decompression) { client, url, completion in
      let request = try! HTTPClient.Request(url: url)
      client.execute(request: request).whenComplete { result in
        completion(try! result.get().body!.readableBytes)
      }
    }
  }

  private func bareWithAwait(_ name: String) -> Contender {
    overClient(name, .disabled) { client, url, completion in
      Task { completion(try await Self.load(url, client)) }
    }
  }

  private func task(_ name: String) -> Contender {
    overClient(name, .enabled(limit: .ratio(1000))) { client, url, completion in
      Future.task { try await Self.load(url, client) }.observe { outcome in completion(try! outcome.get()) }
    }
  }

  private func delegate(_ name: String) -> Contender {
    overClient(name, .enabled(limit: .ratio(1000))) { client, url, completion in
      let promise = Promise<Int>()
      let request = try! HTTPClient.Request(url: url, headers: ["Accept-Encoding": "gzip, deflate"])
      _ = client.execute(request: request, delegate: CountingDelegate(promise))
      promise.future.observe { outcome in completion(try! outcome.get()) }
    }
  }

  private func overClient(
    _ name: String, _ decompression: HTTPClient.Decompression,
    _ load: @escaping @Sendable (HTTPClient, String, @escaping Completion) -> Void
  ) -> Contender {
    Contender(name: name) { [group, url] in
      let configuration = HTTPClient.Configuration(decompression: decompression)
      let client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
      return Session(load: { completion in load(client, url, completion) }, close: { try! client.syncShutdown() })
    }
  }

  private static func load(_ url: String, _ client: HTTPClient) async throws -> Int {
    let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(60))
    return try await response.body.collect(upTo: 1 << 20).readableBytes
  }
}

/// Counts the bytes of a body, and completes a promise with their number.
private final class CountingDelegate: HTTPClientResponseDelegate, Sendable {
  typealias Response = Void

  private let count = Atomic(0)
  private let promise: Promise<Int>

  init(_ promise: Promise<Int>) {
    self.promise = promise
  }

  func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
    count.add(buffer.readableBytes, ordering: .relaxed)
    return task.eventLoop.makeSucceededVoidFuture()
  }

  func didFinishRequest(task: HTTPClient.Task<Void>) {
    promise.succeed(count.load(ordering: .relaxed))
  }
}

// MARK: - The loaders

extension Contenders {
  private func over(
    _ name: String, _ chain: @escaping (AsyncHTTPClientLoader) -> any HTTPLoader = { $0 }
  ) -> Contender {
    overTransport(name, chain) { loader, request, completion in
      loader.load(request).observe { outcome in completion(try! outcome.get().body.count) }
    }
  }

  private func overWithAwait(_ name: String) -> Contender {
    overTransport(name) { loader, request, completion in
      Task { completion(try await loader.load(request).value.body.count) }
    }
  }

  private func overTransport(
    _ name: String, _ chain: @escaping (AsyncHTTPClientLoader) -> any HTTPLoader = { $0 },
    _ load: @escaping @Sendable (any HTTPLoader, HTTPRequest, @escaping Completion) -> Void
  ) -> Contender {
    Contender(name: name) { [group, url] in
      let transport = AsyncHTTPClientLoader(on: group)
      let (loader, request) = (chain(transport), try! HTTPRequest(url))
      return Session(
        load: { completion in load(loader, request, completion) },
        close: { _ = try! transport.shutdown().wait(for: .seconds(60)) })
    }
  }

  #if os(Linux)
    private var overCurl: [Contender] {
      [
        overCurl("`CurlLoader`, futures"),
        overCurl("`CurlLoader` behind five layers") { transport in
          ResetGuard() --> Autocancel() --> Retry() --> Throttle(1000) --> Redirect() --> transport
        },
      ]
    }

    private func overCurl(
      _ name: String, _ chain: @escaping (CurlLoader) -> any HTTPLoader = { $0 }
    ) -> Contender {
      Contender(name: name) { [url] in
        // As many connections as AsyncHTTPClient opens.
        let loader = chain(CurlLoader(CurlLoader.Configuration(maximumConnectionsPerHost: 8)))
        let request = try! HTTPRequest(url)
        return Session(
          load: { completion in loader.load(request).observe { outcome in completion(try! outcome.get().body.count) } },
          close: {})
      }
    }
  #else
    private var overCurl: [Contender] { [] }
  #endif

  private func bareURLSession(_ name: String) -> Contender {
    Contender(name: name) { [url] in
      let (session, url) = (URLSession(configuration: .ephemeral), URL(string: url)!)
      return Session(
        load: { completion in session.dataTask(with: url) { data, _, _ in completion(data!.count) }.resume() },
        close: { session.invalidateAndCancel() })
    }
  }

  private func overURLSession(_ name: String) -> Contender {
    Contender(name: name) { [url] in
      let (loader, request) = (URLSessionLoader(), try! HTTPRequest(url))
      return Session(
        load: { completion in loader.load(request).observe { outcome in completion(try! outcome.get().body.count) } },
        close: {})
    }
  }
}
