import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

/// Cancellations that race completions on sockets, thousands of times: requests with and without a body, responses in memory
/// and in a file. They run in their own process, so that its threads and descriptors can be counted.
@Suite("URLSessionLoader, races", .onSockets) struct URLSessionLoaderStressTests {
  @Test(
    "A cancellation that races its response completes each future once, and nothing is retained",
    .timeLimit(.minutes(20))
  )
  func races() async {
    let run = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
      try await Stress.run(races: LongTest.count(10_000, small: 1_000))
    }
    Stress.printResults(of: run?.standardOutputContent)
  }

  @Test("Dropped loaders release their sessions", .timeLimit(.minutes(20)))
  func loaders() async {
    await #expect(processExitsWith: .success) {
      let server = try Loopback.server()
      server.on("/", .respond(headers: [("Connection", "close")], body: "answer"))
      let counter = Counter()
      for _ in 0..<LongTest.count(50, small: 20) { try await Stress.useLoader(server, counter) }
      let before = await Stress.Held.settled(at: nil)

      for _ in 0..<LongTest.count(200, small: 40) { try await Stress.useLoader(server, counter) }

      let after = await Stress.Held.settled(at: before)
      #expect(after.descriptors <= before.descriptors + 2 && after.threads <= before.threads + 2, "\(before) \(after)")
      expectEqual(counter.live, 0)
    }
  }
}

/// Counts the live objects that it created.
private final class Counter: Sendable {
  final class Token: Sendable {
    private let counter: Counter

    fileprivate init(_ counter: Counter) {
      self.counter = counter
      counter.count.withLock { $0 += 1 }
    }

    deinit {
      counter.count.withLock { $0 -= 1 }
    }
  }

  private let count = Locked(0)

  var live: Int { count.value }

  func token() -> Token { Token(self) }
}

enum Stress {
  /// The result of a race.
  private struct Tally {
    var answered = 0
    var cancelled = 0
    var completions = 0
  }

  static func run(races: Int) async throws {
    let server = try Loopback.server()
    server.on("/", .respond(body: "answer"))
    let loader = URLSessionLoader(.init(timeout: nil, maximumConnectionsPerHost: connections))
    let (folder, counter) = (try Folder(), Counter())

    // A warm-up that fills the pools of threads and connections.
    _ = try await race(races * 3 / 10, against: server, loader, folder, counter)
    let before = try await Held.least(of: 50, server, loader)
    let tally = try await race(races, against: server, loader, folder, counter)
    try await loader.reset().value
    var after = try await Held.least(of: 50, server, loader)
    // The platform keeps a connection that the server has closed until its next use: at most one for each slot.
    for _ in 0..<20 where after.descriptors > before.descriptors {
      let loads = try (0..<32).map { _ in loader.load(try HTTPRequest(server.url("/"))) }
      for load in loads { _ = try await load.value }
      after.descriptors = min(after.descriptors, try await Held.least(of: 50, server, loader).descriptors)
    }
    // Dispatch ends threads that are idle for five seconds. A thread that exists after thirty seconds is not idle.
    for _ in 0..<120 where after.threads > before.threads + 2 {
      try await Task.sleep(for: .milliseconds(250))
      after.threads = Held.threadCount
    }

    try await loader.reset().value  // A load completes before its transfer is released.
    print("stress: \(races) races: \(tally.answered) answered, \(tally.cancelled) cancelled")
    print("stress: before \(before), after \(after); \(loader.liveCount) transfers, \(counter.live) tokens live")
    expectEqual(tally.completions, races)
    expectEqual(tally.answered + tally.cancelled, races)
    #expect(tally.answered >= races / 20 && tally.cancelled >= races / 20, "\(tally)")
    #expect(after.descriptors <= before.descriptors + connections)
    #expect(after.threads <= before.threads + 2)
    // Each transfer, each body and each future of a race holds a token.
    expectEqual(loader.liveCount, 0)
    expectEqual(counter.live, 0)
    #expect(folder.names.allSatisfy { !$0.hasSuffix(".partial") }, "\(folder.names)")
  }

  /// One request and its response, by a separate loader that is dropped.
  fileprivate static func useLoader(_ server: LoopbackServer, _ counter: Counter) async throws {
    let request = try request(1, to: server, try Folder(), counter)
    await expectEqual(URLSessionLoader(.patient).load(request).outcome.ending, .succeeded)
  }

  /// One of four kinds: plain, with progress, with a streamed body, to a file.
  private static func request(_ index: Int, to server: LoopbackServer, _ folder: Folder, _ counter: Counter) throws
    -> HTTPRequest
  {
    var request = try HTTPRequest(index % 4 == 2 ? .put : .get, server.url("/"))
    let token = counter.token()
    switch index % 4 {
    case 1: request.progress = { _ in withExtendedLifetime(token) {} }
    case 2:
      request.body = .stream(length: 20_000) {
        var left = 20_000
        return HTTPBodyReader { maximum in
          defer { left -= min(left, maximum) }
          return withExtendedLifetime(token) { Data(count: min(left, maximum)) }
        }
      }
    case 3: request.delivery = .file(folder.file("\(index)"), maximumSize: nil)
    default: break
    }
    return request
  }

  /// Twenty loads at a time. Each is cancelled after a different number of hops on a queue. If one side wins too often, the next
  /// batch hops longer or shorter before it cancels, so that the race stays open on any machine.
  private static func race(
    _ races: Int, against server: LoopbackServer, _ loader: URLSessionLoader, _ folder: Folder, _ counter: Counter
  ) async throws -> Tally {
    let completions = Locked(0)
    var tally = Tally()
    var hops = 100
    for _ in 0..<(races / batch) {
      let futures = try (1...batch).map { index in
        let future = loader.load(try request(index, to: server, folder, counter))
        let token = counter.token()
        future.observe { _ in withExtendedLifetime(token) { completions.withLock { $0 += 1 } } }
        hopsLeft.withLock { $0 += 1 }
        hop(hops * index / batch) {
          future.cancel()
          hopsLeft.withLock { $0 -= 1 }
        }
        return future
      }
      for future in futures { _ = await future.outcome }
      let answered = futures.count { $0.outcomeIfCompleted?.ending == .succeeded }
      tally.answered += answered
      tally.cancelled += futures.count { $0.outcomeIfCompleted?.ending == .cancelled }
      hops = answered > batch / 2 ? max(1, hops * 3 / 4) : min(10_000, hops * 4 / 3 + 1)
    }
    tally.completions = completions.withLock { $0 }
    // A cancellation that still hops retains its future, and with it the response.
    while hopsLeft.value > 0 {
      await withCheckedContinuation { continuation in hopping.async { continuation.resume() } }
    }
    return tally
  }

  private static let batch = 20
  private static let connections = 16
  private static let hopping = DispatchQueue(label: "hopping")
  private static let hopsLeft = Locked(0)

  private static func hop(_ count: Int, then body: @escaping @Sendable () -> Void) {
    guard count > 0 else { return body() }
    hopping.async { hop(count - 1, then: body) }
  }

  /// The resources of the process, without kept-alive connections, which have a descriptor at each end.
  struct Held: CustomStringConvertible {
    var descriptors = Int.max
    var threads = Int.max

    /// The least of several measurements, with a request between them, so that closing descriptors can close.
    static func least(of looks: Int, _ server: LoopbackServer, _ loader: URLSessionLoader) async throws -> Held {
      var least = Held()
      for _ in 0..<looks {
        _ = try await loader.load(try HTTPRequest(server.url("/"))).value
        let open = server.record.openConnectionCount
        least.descriptors = min(least.descriptors, entries(of: "/proc/self/fd") - 2 * open)
        least.threads = min(least.threads, threadCount)
      }
      return least
    }

    /// The resources as soon as they do not exceed those before, or after thirty seconds: sessions close theirs on
    /// their own threads.
    static func settled(at before: Held?) async -> Held {
      var held = Held()
      for _ in 0..<120 {
        held = Held(descriptors: entries(of: "/proc/self/fd"), threads: threadCount)
        if let before, held.descriptors <= before.descriptors, held.threads <= before.threads { break }
        try? await Task.sleep(for: .milliseconds(before == nil ? 10 : 250))
      }
      return held
    }

    static var threadCount: Int { entries(of: "/proc/self/task") }

    private static func entries(of directory: String) -> Int {
      (try? FileManager.default.contentsOfDirectory(atPath: directory).count) ?? 0
    }

    var description: String { "\(descriptors) descriptors and \(threads) threads" }
  }
}
