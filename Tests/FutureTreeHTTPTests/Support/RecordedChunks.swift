import Dispatch
import Foundation
import FutureTree
import TestSupport

/// An asynchronous source of chunks that records its use.
struct RecordedChunks: AsyncSequence, Sendable {
  enum Ending: Sendable {
    case end
    case error(any Error)
    /// The source waits until its task is cancelled, and then ends as an `AsyncStream` does.
    case never
  }

  /// The promises complete at the first occurrence of each event.
  let begun = Promise<Void>()
  let waits = Promise<Void>()
  let cancelled = Promise<Void>()
  let released = Promise<Void>()
  let requests = Locked(0)
  private let chunks: [Data]
  private let ending: Ending

  init(_ chunks: [Data], then ending: Ending = .end) {
    self.chunks = chunks
    self.ending = ending
  }

  init(_ chunks: String..., then ending: Ending = .end) {
    self.init(chunks.map { Data($0.utf8) }, then: ending)
  }

  func makeAsyncIterator() -> Iterator { Iterator(self) }

  final class Iterator: AsyncIteratorProtocol {
    private let source: RecordedChunks
    private var rest: ArraySlice<Data>

    fileprivate init(_ source: RecordedChunks) {
      self.source = source
      rest = source.chunks[...]
    }

    func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
      source.requests.withLock { $0 += 1 }
      source.begun.succeed()
      if let chunk = rest.popFirst() { return chunk }
      switch source.ending {
      case .end: return nil
      case .error(let error): throw error
      case .never:
        await withTaskCancellationHandler { [source] in
          source.waits.succeed()
          _ = await source.cancelled.future.outcome
        } onCancel: { [source] in
          source.cancelled.succeed()
        }
        return nil
      }
    }

    deinit {
      source.released.succeed()
    }
  }
}

/// Runs the body on a thread that it may block.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    DispatchQueue(label: "onThread").async { continuation.resume(with: Result(catching: body)) }
  }
}
