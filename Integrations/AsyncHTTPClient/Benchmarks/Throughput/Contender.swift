import AsyncHTTPClient
import Foundation
import FutureTree
import FutureTreeAsyncHTTPClient
import FutureTreeHTTP
import NIOCore
import Synchronization

/// A way to load a URL, with a name.
struct Contender {
  let name: String
  /// Loads once, and calls the closure with the number of bytes.
  let load: @Sendable (@escaping @Sendable (Int) -> Void) -> Void
}

/// The figures of one contender in one round.
struct Figures {
  /// The loads per second.
  let rate: Double
  /// The processor time of one load, with that of the server, in seconds.
  let processorTime: Double
}

extension Contender {
  /// Returns all contenders. Those over AsyncHTTPClient share the event loops, and have one pool each.
  static func all(on group: any EventLoopGroup, url: String) -> [Contender] {
    let request = try! HTTPRequest(url)
    let loader = AsyncHTTPClientLoader(on: group)
    let chain =
      ResetGuard() --> Autocancel() --> Retry() --> Throttle(1000) --> Redirect() --> AsyncHTTPClientLoader(on: group)
    return [
      bare("AsyncHTTPClient, futures", group, url),
      bare("AsyncHTTPClient with decompression, futures", group, url, decompression: .enabled(limit: .ratio(1000))),
      bareWithAwait(group, url), over("the loader, futures", loader, request),
      overWithAwait("the loader, `await`", loader, request),
      over("the loader behind five layers", chain, request),
      over("`URLSessionLoader`", URLSessionLoader(), request),
    ]
  }

  private static func bare(
    _ name: String, _ group: any EventLoopGroup, _ url: String, decompression: HTTPClient.Decompression = .disabled
  ) -> Contender {
    let configuration = HTTPClient.Configuration(decompression: decompression)
    let client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
    return Contender(name: name) { completion in
      let request = try! HTTPClient.Request(url: url)
      client.execute(request: request).whenComplete { result in
        completion(try! result.get().body!.readableBytes)
      }
    }
  }

  private static func bareWithAwait(_ group: any EventLoopGroup, _ url: String) -> Contender {
    let client = HTTPClient(eventLoopGroupProvider: .shared(group))
    return Contender(name: "AsyncHTTPClient, `await`") { completion in
      Task {
        let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(60))
        completion(try await response.body.collect(upTo: 1 << 20).readableBytes)
      }
    }
  }

  private static func over(_ name: String, _ loader: any HTTPLoader, _ request: HTTPRequest) -> Contender {
    Contender(name: name) { completion in
      loader.load(request).observe { outcome in completion(try! outcome.get().body.count) }
    }
  }

  private static func overWithAwait(_ name: String, _ loader: any HTTPLoader, _ request: HTTPRequest) -> Contender {
    Contender(name: name) { completion in
      Task { completion(try await loader.load(request).value.body.count) }
    }
  }
}

extension Contender {
  /// Loads `count` times.
  func measure(_ count: Int, _ concurrency: Int) -> Figures {
    let run = Run(count, load)
    let start = clock()  // The processor time of all threads.
    let elapsed = ContinuousClock().measure {
      for _ in 0..<concurrency { run.next() }
      run.done.wait()
    }
    return Figures(
      rate: Double(count) / (elapsed / .seconds(1)),
      processorTime: Double(clock() - start) / Double(CLOCKS_PER_SEC) / Double(count))
  }

  private final class Run: Sendable {
    let done = DispatchSemaphore(value: 0)
    private let left: Atomic<Int>
    private let unfinished: Atomic<Int>
    private let load: @Sendable (@escaping @Sendable (Int) -> Void) -> Void

    init(_ count: Int, _ load: @escaping @Sendable (@escaping @Sendable (Int) -> Void) -> Void) {
      left = Atomic(count)
      unfinished = Atomic(count)
      self.load = load
    }

    func next() {
      guard left.subtract(1, ordering: .relaxed).newValue >= 0 else { return }
      load { [self] _ in
        if unfinished.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { done.signal() } else { next() }
      }
    }
  }
}
