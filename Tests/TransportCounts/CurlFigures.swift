import FutureTreeTransportTesting

#if os(Linux)
  import Foundation
  import FutureTree
  import FutureTreeHTTP
  import FutureTreeHTTPTesting

  /// Figures of `CurlLoader` for which a process and a server of their own are needed: `.ci/servers` starts the server.
  enum CurlFigures {
    private static let loader = CurlLoader(
      .init(timeout: nil, maximumConnectionsPerHost: 100_000), clock: .system)

    /// Measures and prints the figures that the arguments of the command name.
    ///
    /// - Returns: Whether they name figures.
    static func run(_ arguments: [String]) async throws -> Bool {
      switch (arguments.first, arguments.dropFirst().first.flatMap { Int($0) }, Array(arguments.dropFirst())) {
      case ("--in-flight", let count?, let rest) where count > 0 && rest.count == 2: try await inFlight(count, rest[1])
      case ("--slowly", _, let rest) where rest.count == 1: try await slowly(rest[0])
      case ("--secured", _, let rest) where rest.count == 4:
        try await secured(rest[0], rest[1], rest[2], roots: rest[3])
      case ("--exit", let delay?, let rest) where rest.count == 3:
        try await exitDuring(rest[1], roots: rest[2], after: .microseconds(delay))
      default: return false
      }
      return true
    }

    /// Prints the memory of loads whose server does not answer, and cancels them, three times. The allocator keeps the memory for the
    /// next round.
    static func inFlight(_ count: Int, _ url: String) async throws {
      let request = try HTTPRequest(url)
      let first = loader.load(request)
      try await Task.sleep(for: .seconds(1))
      let before = ProcessResources.current.residentBytes!
      for _ in 1...3 {
        let loads = (0..<count).map { _ in loader.load(request) }
        try await Task.sleep(for: .seconds(5))
        let during = ProcessResources.current
        print(
          "\(count) loads in flight: \((during.residentBytes! - before) / count) bytes each; in all \(during)")
        for load in loads { load.cancel() }
        for load in loads { _ = await load.outcome }
        try await Task.sleep(for: .seconds(1))
        print("all cancelled: \(ProcessResources.current)")
      }
      first.cancel()
    }

    /// Reads a body with 10 MB/s, and prints the memory that the process needed at most.
    static func slowly(_ url: String) async throws {
      var request = try HTTPRequest(url)
      request.delivery = .stream(bufferLimit: 1 << 20)
      let response = try await loader.load(request).value
      let clock = ContinuousClock()
      let start = clock.now
      var size = 0
      for try await chunk in response.bodyStream {
        size += chunk.count
        let due = start + .seconds(Double(size) / 10_000_000)
        if due > clock.now { try await Task.sleep(until: due, clock: clock) }
      }
      var usage = rusage()
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
      print("\(size) bytes in \(start.duration(to: clock.now)): \(usage.ru_maxrss >> 10) MiB at most")
    }

    /// Prints the processor time of a load over a reused connection, with and without TLS, and over a new one with TLS.
    static func secured(_ plain: String, _ reused: String, _ new: String, roots: String) async throws {
      var configuration = CurlLoader.Configuration(timeout: nil)
      configuration.security.roots = .file(roots)
      configuration.allowsHTTP2 = false
      let loader = CurlLoader(configuration)
      for (name, url) in [("plain", plain), ("TLS", reused), ("TLS, a new connection", new)] {
        let request = try HTTPRequest(url)
        var start = 0
        for number in -100..<1_000 {
          if number == 0 { start = clock() }
          _ = try await loader.load(request).value
        }
        print("\(name): \((clock() - start) / 1_000) µs of a processor for a load")
      }
    }

    /// Ends the process while loads over TLS are in flight.
    static func exitDuring(_ url: String, roots: String, after delay: Duration) async throws {
      var configuration = CurlLoader.Configuration(timeout: nil)
      configuration.security.roots = .file(roots)
      let loaders = [true, false].map { allowsHTTP2 in
        configuration.allowsHTTP2 = allowsHTTP2
        return CurlLoader(configuration)
      }
      let request = try HTTPRequest(url)
      for _ in 0..<8 {
        for loader in loaders { loader.load(request).onSuccess { _ in loader.load(request) } }
      }
      try await Task.sleep(for: delay)
      exit(0)
    }
  }
#endif
