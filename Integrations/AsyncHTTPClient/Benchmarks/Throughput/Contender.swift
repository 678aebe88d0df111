import AsyncHTTPClient
import Dispatch
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

extension Contender {
  /// Returns all contenders. Those over AsyncHTTPClient share the event loops, and have one pool each.
  static func all(on group: any EventLoopGroup, url: String) -> [Contender] {
    let request = try! HTTPRequest(url)
    let loader = AsyncHTTPClientLoader(on: group)
    let chain =
      ResetGuard() --> Autocancel() --> Retry() --> Throttle(1000) --> Redirect() --> AsyncHTTPClientLoader(on: group)
    return [
      bare(group, url), bareWithAwait(group, url), over("the loader", loader, request),
      over("the loader behind five layers", chain, request),
      over("`URLSessionLoader`", URLSessionLoader(), request),
    ]
  }

  private static func bare(_ group: any EventLoopGroup, _ url: String) -> Contender {
    let client = HTTPClient(eventLoopGroupProvider: .shared(group))
    return Contender(name: "AsyncHTTPClient, futures") { completion in
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
}

extension Contender {
  /// Loads `count` times, and returns the loads per second.
  func measure(_ count: Int, _ concurrency: Int) -> Double {
    let run = Run(count, load)
    let clock = ContinuousClock()
    let elapsed = clock.measure {
      for _ in 0..<concurrency { run.next() }
      run.done.wait()
    }
    return Double(count) / (Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) * 1e-18)
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
