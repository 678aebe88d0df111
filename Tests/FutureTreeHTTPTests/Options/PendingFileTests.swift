import Foundation
import FutureTree
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

/// A file has its name only if the future of its load succeeds.
@Suite("Files of loads that end as cancelled") struct PendingFileTests {
  /// A transport that has received a whole body before it notices a cancellation request.
  private final class LateTransport: HTTPLoader {
    private let load = Locked<(request: HTTPRequest, promise: Promise<HTTPResponse>)?>(nil)

    func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
      do { _ = try ResponseReceiver(for: request, maximumSize: 100) } catch { return .failed(error) }
      let promise = Promise<HTTPResponse>()
      promise.onRequestCancel { _ in .continue }
      load.value = (request, promise)
      return promise.future
    }

    func reset() -> Future<Void> { .succeeded }

    var isLoading: Bool { load.withLock { $0 != nil } }

    /// Ends the load as a success. The file of the request has its name when this method returns.
    ///
    /// - Parameter act: The closure that runs after the body has arrived.
    func succeed(after act: () throws -> Void = {}) throws {
      let (request, promise) = try #require(load.withLock { $0.take() })
      var receiver = try ResponseReceiver(for: request, maximumSize: 100)
      try receiver.receiveHead(.ok, [])
      try receiver.receive(Data("new".utf8))
      try act()
      promise.succeed(try receiver.finish())
    }
  }

  /// The ways to load into a file.
  enum Way: CaseIterable {
    case download, downloadThroughLayers, load, loadThroughLayers
  }

  private let transport = LateTransport()
  private let folder: Folder

  init() throws {
    folder = try Folder()
    _ = try folder.write("old", to: "body")
  }

  private func begin(_ way: Way) throws -> Future<HTTPResponse> {
    let chain = Redirect() --> Retry() --> transport
    var request = try HTTPRequest("http://a/film")
    request.delivery = .file(folder.file("body"))
    return switch way {
    case .download: transport.download("http://a/film", to: folder.file("body"))
    case .downloadThroughLayers: chain.download("http://a/film", to: folder.file("body"))
    case .load: (ModifyRequest { _ in } --> transport).load(request)
    case .loadThroughLayers: chain.load(request)
    }
  }

  @Test(
    "A load that is cancelled after its body arrived leaves the existing file and no other",
    arguments: Way.allCases, [CancellationOptions(), .doNotForwardRequest, .forceImmediately])
  func cancelled(way: Way, options: CancellationOptions) async throws {
    let load = try begin(way)

    load.cancel(options)
    try transport.succeed()

    await expectEqual(load.outcome.ending, .cancelled)
    expectEqual(folder.text(of: "body"), "old")
    expectEqual(folder.names, ["body"])
  }

  @Test("A load that succeeds replaces the file, and its response names it", arguments: Way.allCases)
  func succeeded(way: Way) async throws {
    let load = try begin(way)

    try transport.succeed()

    let response = try await load.value
    expectEqual(response.content.description, "3 bytes in a file")
    guard case .file(folder.file("body"), 3) = response.content else {
      Issue.record("another file")
      return
    }
    expectEqual(response.request.delivery.file, folder.file("body"))
    expectEqual(folder.text(of: "body"), "new")
    expectEqual(folder.names, ["body"])
  }

  @Test("The file has its name before the first consumer of the load is notified")
  func order() throws {
    let load = try begin(.downloadThroughLayers)
    let text = load.map { [folder] _ in folder.text(of: "body") }

    try transport.succeed()

    try expectEqual(text.outcomeIfCompleted?.get(), "new")
  }

  @Test("A file that cannot be renamed fails the load, and is removed")
  func refused() async throws {
    let load = try begin(.load)

    try transport.succeed {
      try FileManager.default.removeItem(at: folder.file("body"))
      try FileManager.default.createDirectory(at: folder.file("body"), withIntermediateDirectories: false)
    }

    let error = await load.outcome.error
    expectEqual(error?.code, .unwritableBody)
    #expect(error?.description.contains("http://a/film") == true)
    expectEqual(folder.names, ["body"])
  }

  @Test("A directory in place of the file is refused before a request is sent", arguments: Way.allCases)
  func directory(way: Way) async throws {
    try FileManager.default.removeItem(at: folder.file("body"))
    try FileManager.default.createDirectory(at: folder.file("body"), withIntermediateDirectories: false)

    await expectEqual((try begin(way)).outcome.code, .unwritableBody)
    #expect(!transport.isLoading)
  }

  @Test("The request of a response that was not delivered to the file can be loaded again")
  func again() async throws {
    let mock = MockLoader()
    mock.on("/film", .text("busy", status: .serviceUnavailable), .text("new"))
    let error = await mock.download("http://a/film", to: folder.file("body")).outcome.error
    let request = try #require(error?.response?.request)

    let response = try await (ModifyRequest { _ in } --> mock).load(request).value

    guard case .file(folder.file("body"), 3) = response.content else {
      Issue.record("another file")
      return
    }
    expectEqual(folder.text(of: "body"), "new")
    expectEqual(folder.names, ["body"])
  }
}
