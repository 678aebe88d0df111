import Foundation
import FutureTreeAsyncHTTPClient
import FutureTreeHTTP

/// Streams a large body from another process to a slow reader, and prints the peak of the resident memory, without the code of
/// the program and its libraries:
///
///     swift run -c release StreamMemory
///     swift run -c release StreamMemory --megabytes 4096 --limit 32
///
/// It exits with 1 if the peak is above the limit, in MiB, or if the body is not whole.
@main enum StreamMemory {
  static func main() async throws {
    var options = ["--megabytes": 1024, "--limit": 32]
    var arguments = CommandLine.arguments.dropFirst()
    if arguments.first == "serve" { return try await StreamServer.serve() }
    while let name = arguments.popFirst() {
      guard options[name] != nil, let value = arguments.popFirst().flatMap({ Int($0) }), value > 0 else {
        fatalError("\(name) is not an option with a number: --megabytes, --limit.")
      }
      options[name] = value
    }
    let megabytes = options["--megabytes"]!
    let limit = options["--limit"]!

    let server = try StreamServer.start()
    defer { server.process.terminate() }
    var request = try HTTPRequest("http://127.0.0.1:\(server.port)/\(megabytes)")
    request.delivery = .stream()
    let loader = AsyncHTTPClientLoader(.init(timeout: nil))
    let response = try await loader.load(request).value
    var size = 0
    var nextPause = 0
    var peak = 0
    for try await bytes in response.bodyStream {
      size += bytes.count
      guard size >= nextPause else { continue }
      nextPause = size + 1 << 20
      peak = max(peak, try memory())
      try await Task.sleep(for: .milliseconds(5))  // A slow reader: at most 200 MiB a second.
    }
    print("\(size >> 20) MiB were streamed, with at most \(peak) KiB of memory. The limit is \(limit) MiB.")
    try await loader.shutdown().value
    server.process.terminate()
    exit(size == megabytes << 20 && peak <= limit << 10 ? 0 : 1)
  }

  /// The resident memory of this process without the pages of files, such as the code of libraries, in KiB.
  ///
  /// On platforms without this figure, the whole peak.
  private static func memory() throws -> Int {
    #if os(Linux)
      let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
      let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") } ?? ""
      return Int(line.split(whereSeparator: \.isWhitespace).dropFirst().first ?? "") ?? .max
    #else
      var usage = rusage()
      getrusage(RUSAGE_SELF, &usage)
      return usage.ru_maxrss >> 10
    #endif
  }
}
