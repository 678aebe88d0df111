import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting

/// The operations of a load test against one server.
final class LoadRound: Sendable {
  private let server: LoopbackServer
  private let loader: any HTTPLoader
  private let clock: any FutureClock
  private let outcomes = Locked(LoadOutcomes())
  /// The responses that are held at a byte, by the target of their request.
  private let held = Locked<[String: (response: [UInt8], count: Int, gate: LoopbackGate)]>([:])
  private let lastNumber = Locked(0)
  /// The resets of the transport: those that have begun, and those that are running.
  private let resets = Locked((begun: 0, running: 0))

  private static let body = [UInt8](repeating: 0x61, count: 20_000)
  private static let head = head("200 OK")

  /// The heads of requests that are cancelled. `URLSession` asks its delegate about the last two.
  private static let heads = [
    head, head("302 Found\r\nLocation: /whole"), head("401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a\""),
  ]

  private static func head(_ status: String) -> [UInt8] {
    Array("HTTP/1.1 \(status)\r\nContent-Length: \(body.count)\r\n\r\n".utf8)
  }

  init(_ loader: any HTTPLoader, _ clock: any FutureClock) throws {
    self.loader = loader
    self.clock = clock
    server = try LoopbackServer()
    server.on("/whole", .respond(body: Self.body))
    server.on("/cut") { request in .respond(body: Self.body).cut(at: request.number) }
    server.on("/reset") { request in .respond(body: Self.body).reset(at: request.number) }
    server.on("/slow", .respond(body: Self.body).slow(chunk: 10, every: .milliseconds(1)))
    server.on("/stall", [.send(Self.head + Self.body.prefix(10)), .stall])
    server.on("/upload") { request in .respond(body: "\(request.body.count)") }
    server.on("/held") { [held] request in
      guard let (response, count, gate) = held.withLock({ $0[request.target] }) else { return .status(404) }
      return [.send(Array(response.prefix(count))), .hold(gate), .send(Array(response.dropFirst(count)))]
    }
  }

  /// Ends the round: the transport is reset, and the server is stopped.
  func end() async -> LoadOutcomes {
    if await completed(loader.reset()) == nil { add(fault: "The reset after the loads did not complete.") }
    server.stop()
    return outcomes.value
  }

  func perform(_ operation: LoadOperation, _ random: inout RandomSource) async {
    let before = resets.value
    do {
      let ending = try await ending(of: operation, &random)
      let wasReset = before.running > 0 || resets.value.begun > before.begun
      outcomes.withLock { $0.add(operation, ending, wasReset: wasReset) }
    } catch { add(fault: "\(operation): \(error)") }
  }

  private func ending(of operation: LoadOperation, _ random: inout RandomSource) async throws -> String {
    switch operation {
    case .cancelledRequest: return try await cancelledRequest(&random)
    case .cancelledStream: return try await cancelledStream(&random)
    case .request: return await whole(loader.load(try request("/whole")))
    case .stream: return await stream(try request("/whole"), .all)
    case .upload: return try await upload(&random)
    case .cut, .reset:
      let count = Int.random(in: 0..<Self.body.count, using: &random)
      let request = try request("/\(operation)?\(count)")
      guard Bool.random(using: &random) else { return await whole(loader.load(request)) }
      // A reset can discard bytes that have arrived.
      return await stream(request, .all, cutAt: operation == .cut ? count : nil)
    case .slow: return try await slow(&random)
    case .unread: return try await unread()
    case .transportReset: return await transportReset()
    }
  }
}

// MARK: - Operations

extension LoadRound {
  private static let options: [CancellationOptions] = [
    [], .doNotForwardIfOthersWaiting, .doNotForwardRequest, .forceImmediately,
  ]

  /// Returns the target of a response that is held at a random byte. Half of the responses are held in the head.
  private func holdResponse(
    _ random: inout RandomSource, _ head: [UInt8] = LoadRound.head
  ) -> (target: String, count: Int, gate: LoopbackGate) {
    let number = lastNumber.withLock { number in
      number += 1
      return number
    }
    let (target, gate) = ("/held?\(number)", LoopbackGate())
    let end = Bool.random(using: &random) ? head.count : head.count + Self.body.count
    let count = Int.random(in: 0...end, using: &random)
    held.withLock { $0[target] = (head + Self.body, count, gate) }
    return (target, count, gate)
  }

  private func release(_ target: String) {
    held.withLock { $0.removeValue(forKey: target) }?.gate.open()
  }

  private func cancelledRequest(_ random: inout RandomSource) async throws -> String {
    let head = Self.heads.randomElement(using: &random)!
    let (target, _, gate) = holdResponse(&random, head)
    defer { release(target) }
    let load = loader.load(try request(target))
    // One in four is cancelled at once, and one in four while the rest of its response arrives.
    let moment = Int.random(in: 0..<4, using: &random)
    if moment > 0 { await waitForResponse(to: load, gate) }
    if moment == 1 {
      gate.open()
      _ = await Future.after(.microseconds(Int.random(in: 0..<1_000, using: &random)), clock: clock).outcome
    }
    if let ending = cancelled(load, &random) { return ending }
    return await whole(load)
  }

  private func cancelledStream(_ random: inout RandomSource) async throws -> String {
    let (target, count, gate) = holdResponse(&random)
    defer { release(target) }
    let request = try request(target)
    if count > Self.head.count {
      let readings = [Reading.part, .taskCancelled, .nothing] + Self.options.map { .cancelled($0) }
      return await stream(request, readings.randomElement(using: &random)!)
    }
    let load = loader.load(streamed(request))
    await waitForResponse(to: load, gate)
    if let ending = cancelled(load, &random) { return ending }
    return ending(await completed(load))
  }

  /// Cancels a load with random options.
  ///
  /// - Returns: The ending of a load that was cancelled before. `nil` for another load.
  private func cancelled(_ load: Future<HTTPResponse>, _ random: inout RandomSource) -> String? {
    let options = Self.options.randomElement(using: &random)!
    if load.outcomeIfCompleted?.ending == .cancelled { return LoadOperation.cancelledUnasked }
    load.cancel(options)
    return nil
  }

  private func upload(_ random: inout RandomSource) async throws -> String {
    let size = Int.random(in: 0..<50_000, using: &random)
    var request = try HTTPRequest(.put, server.url("/upload"))
    request.body = CheckRun.body(of: size, length: Bool.random(using: &random) ? size : nil)
    return await whole(loader.load(request), Array("\(size)".utf8))
  }

  private func slow(_ random: inout RandomSource) async throws -> String {
    var request = try request("/slow")
    let time = Duration.milliseconds(Int.random(in: 1..<50, using: &random))
    guard Bool.random(using: &random) else {
      request.timeout = time
      return await whole(loader.load(request))
    }
    let load = loader.load(request)
    _ = await Future.after(time, clock: clock).outcome
    load.cancel()
    return await whole(load)
  }

  private func transportReset() async -> String {
    resets.withLock { $0 = ($0.begun + 1, $0.running + 1) }
    defer { resets.withLock { $0.running -= 1 } }
    return ending(await completed(loader.reset()))
  }

  private func unread() async throws -> String {
    var request = try request("/stall")
    request.delivery = .stream(idleReadTimeout: .milliseconds(20))
    let load = loader.load(request)
    guard case .success(let response) = await completed(load) else { return await whole(load) }
    return ending(await completed(response.transfer))
  }
}

// MARK: - Outcomes

extension LoadRound {
  /// The use of a stream.
  private enum Reading: Sendable {
    /// Read to the end.
    case all
    /// Read one chunk, and leave the loop.
    case part
    /// Drop the response.
    case nothing
    /// Read one chunk, and cancel the task.
    case taskCancelled
    /// Read one chunk, and cancel the transfer.
    case cancelled(CancellationOptions)

    /// Starts a task that holds the only reference to a stream.
    ///
    /// - Parameter received: The number of bytes that the reader of a whole stream has read.
    func begin(_ stream: HTTPBodyStream, _ received: Locked<Int>) -> Future<Data>? {
      switch self {
      case .nothing: nil
      case .all:
        .task {
          try await stream.reduce(into: Data()) { data, chunk in
            data += chunk
            received.value = data.count
          }
        }
      case .part: onFirst(stream) { false }
      case .taskCancelled:
        onFirst(stream) {
          withUnsafeCurrentTask { $0?.cancel() }
          return true
        }
      case .cancelled(let options):
        // The reader is a consumer, which withholds a request that others can withhold until it leaves.
        onFirst(stream) { [transfer = stream.transfer] in
          transfer.cancel(options)
          return options != .doNotForwardIfOthersWaiting
        }
      }
    }

    /// - Parameter continues: Called for each chunk. Returns whether the loop continues.
    private func onFirst(_ stream: HTTPBodyStream, _ continues: @escaping @Sendable () -> Bool) -> Future<Data> {
      .task {
        for try await _ in stream where !continues() { break }
        return Data()
      }
    }
  }

  private func request(_ target: String) throws -> HTTPRequest { try HTTPRequest(server.url(target)) }

  private func streamed(_ request: HTTPRequest) -> HTTPRequest {
    var request = request
    request.delivery = .stream()
    return request
  }

  /// Returns the outcome of a future, or `nil` if it does not complete within a minute.
  private func completed<Value>(_ future: Future<Value>) async -> Outcome<Value>? {
    let outcome = await future.observed().timeout(after: .seconds(60), clock: clock).outcome
    if case .failure(is TimeoutError) = outcome { return nil }
    return outcome
  }

  /// Waits until a response is held, or until a reset of the transport has ended its load.
  private func waitForResponse(to load: Future<HTTPResponse>, _ gate: LoopbackGate) async {
    let reached = Promise<Void>()
    gate.waitForHolders().observe { _ in reached.succeed() }
    load.observe { _ in reached.succeed() }
    _ = await completed(reached.future)
  }

  /// Waits for a load, and checks the bytes of a success.
  private func whole(_ load: Future<HTTPResponse>, _ expected: [UInt8] = LoadRound.body) async -> String {
    let outcome = await completed(load)
    if case .success(let response) = outcome, (try? response.body) != Data(expected) {
      add(fault: "\(response): other bytes than the \(expected.count) that were sent")
    }
    return ending(outcome)
  }

  /// Loads a stream and uses it. Returns the ending of its transfer.
  ///
  /// - Parameter count: The number of bytes after which the server closes the connection.
  private func stream(_ request: HTTPRequest, _ reading: Reading, cutAt count: Int? = nil) async -> String {
    let transfer: Future<Void>
    let reader: Future<Data>?
    let received = Locked(0)
    switch await completed(loader.load(streamed(request))) {
    case .success(let response):
      (transfer, reader) = (response.transfer, reading.begin(response.bodyStream, received))
    case .cancelled: return LoadOperation.cancelledUnasked
    case let outcome: return ending(outcome)
    }
    let ended = await completed(transfer)
    let read = if let reader { await completed(reader) } else { nil as Outcome<Data>? }
    if case .success(let bytes) = read, case .all = reading, bytes != Data(Self.body) {
      add(fault: "\(request): \(bytes.count) bytes, or other bytes, of \(Self.body.count)")
    }
    // A request, such as that of a reset, discards what was not read, even if the connection is cut before the request is confirmed.
    if let count, ended?.ending == .failed, transfer.cancelRequest == nil, received.value != count {
      add(fault: "\(request): \(received.value) bytes before the error, of \(count)")
    }
    return ending(ended)
  }

  private func ending<Value>(_ outcome: Outcome<Value>?) -> String {
    switch outcome {
    case nil: "pending"
    case .success: "succeeded"
    case .failure(let error as HTTPError): error.code.description
    case .failure(let error): "\(type(of: error))"
    case .cancelled: "cancelled"
    }
  }

  private func add(fault: String) {
    outcomes.withLock { $0.add(fault: fault) }
  }
}

extension LoopbackRequest {
  /// The number in the query.
  fileprivate var number: Int { Int(target.drop { $0 != "?" }.dropFirst()) ?? 0 }
}

extension TransportLoad {
  /// The counts of a run.
  ///
  /// ```swift
  /// let report = try await load.run(mixed: 10_000)
  /// print(report)  // A table of the resources and of the outcomes.
  /// ```
  public struct Report: Sendable {
    /// The name of the transport.
    public let name: String
    /// What was run.
    public let title: String
    /// The resources after the warm-up.
    public let before: ProcessResources
    /// The resources after the run.
    public let after: ProcessResources
    /// The resources that the transport may hold in addition.
    public let tolerance: ProcessResources
    /// The number of operations.
    public let count: Int
    /// The number of operations for each kind and ending, such as `cancelledStream: cancelled`.
    public let outcomes: [String: Int]
    /// The faults of operations: wrong outcomes, wrong bytes, and loads that did not complete. Each is listed once,
    /// and at most 20 are listed.
    public let faults: [String]

    /// The resources that exceed those before the run by more than the tolerance, as text. Empty if there are none.
    public var leftovers: [String] { tolerance.faults(before, after) }

    /// Whether no operation had a fault, and no more resources are left than the tolerance allows.
    public var isClean: Bool { faults.isEmpty && leftovers.isEmpty }
  }
}

extension TransportLoad.Report: CustomStringConvertible {
  /// A table of the resources and of the outcomes, followed by the faults.
  public var description: String {
    let counts = outcomes.sorted { $0.key < $1.key }.map { "  \($0.value) × \($0.key)" }
    let problems = (leftovers + faults).map { "  FAULT: \($0)" }
    return (["\(name): \(title)", "  before: \(before)", "  after:  \(after)"] + counts + problems).joined(
      separator: "\n")
  }
}

/// One kind of operation of a load test.
enum LoadOperation: String, CaseIterable, Sendable {
  /// A request that is cancelled while its response is held at a random byte.
  case cancelledRequest
  /// A stream that ends early, at a random byte.
  case cancelledStream
  case request
  case stream
  case upload
  /// A body whose connection is closed at a random byte.
  case cut
  /// A body whose connection is reset at a random byte.
  case reset
  /// A slow body that exceeds a time limit or is cancelled.
  case slow
  /// A stream without a reader.
  case unread
  case transportReset

  static let cancellations: [LoadOperation] = [.cancelledRequest, .cancelledStream]

  /// All operations. Few of them are resets of the transport, because a reset cancels the others.
  static let mixed = (0..<5).flatMap { _ in allCases.filter { $0 != .transportReset } } + [.transportReset]

  /// The operations that succeed unless a reset of the transport cancels them.
  static let successes: [LoadOperation] = [.request, .stream, .upload]

  /// The ending of an operation that is cancelled before the test requested it.
  static let cancelledUnasked = "cancelled without a request"

  /// The endings that only a reset of the transport can cause.
  static let resetEndings: Set = ["cancelled", cancelledUnasked]

  /// The endings of a correct transport. A reset of the transport can cancel every other operation.
  var endings: Set<String> {
    switch self {
    case .cancelledRequest, .cancelledStream: ["succeeded", "cancelled"]
    case .request, .stream, .upload, .transportReset: ["succeeded"]
    case .cut, .reset: ["truncatedBody", "connectionLost"]
    case .slow: ["timedOut", "cancelled"]
    case .unread: ["bodyNotRead"]
    }
  }
}

/// The outcomes of operations.
struct LoadOutcomes {
  private(set) var counts: [String: Int] = [:]
  private(set) var faults: [String] = []

  /// - Parameter wasReset: Whether the transport was reset while the operation ran.
  mutating func add(_ operation: LoadOperation, _ ending: String, wasReset: Bool) {
    counts["\(operation): \(ending)", default: 0] += 1
    guard !operation.endings.contains(ending) else { return }
    if wasReset, LoadOperation.resetEndings.contains(ending), operation != .transportReset { return }
    add(fault: "\(operation) ended with \(ending)")
  }

  /// Adds a fault for each operation that should have succeeded and never did.
  mutating func checkSuccesses() {
    for operation in LoadOperation.successes {
      let endings = counts.filter { $0.key.hasPrefix("\(operation): ") }
      if endings.values.reduce(0, +) >= 10, endings["\(operation): succeeded"] == nil {
        add(fault: "\(operation) never succeeded")
      }
    }
  }

  mutating func add(fault: String) {
    if faults.count < 20, !faults.contains(fault) { faults.append(fault) }
  }

  mutating func merge(_ other: LoadOutcomes) {
    counts.merge(other.counts, uniquingKeysWith: +)
    for fault in other.faults { add(fault: fault) }
  }
}
