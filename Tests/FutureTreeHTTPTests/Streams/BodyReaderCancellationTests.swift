import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeTesting
import TestSupport
import Testing

@Suite("HTTPBodyStream: a cancelled reader") struct BodyReaderCancellationTests {
  @Test("Cancelling a task calls no code of the transport, because the runtime may hold a lock of the task")
  func calledLater() async throws {
    var request = try HTTPRequest("http://example.com/feed")
    request.delivery = .stream()
    let (stream, writer) = HTTPBodyStream.makeStream(for: request, clock: ManualClock())
    let cancelling = Locked<pthread_t?>(nil)
    let isCalledInside = Promise<Bool>()
    writer.onStop {
      isCalledInside.succeed(cancelling.value.map { pthread_equal($0, pthread_self()) != 0 } ?? false)
      writer.fail(HTTPError(.connectionLost, "The connection was closed. Load again."))
    }
    let task = Task { for try await _ in stream {} }
    while !writer.isAwaited { await Task.yield() }

    cancelling.value = pthread_self()
    task.cancel()
    cancelling.value = nil

    try await expectEqual(isCalledInside.future.value, false)
    await #expect(throws: CancellationError.self) { try await task.value }
    await expectEqual(stream.transfer.outcome.ending, .cancelled)
  }
}
