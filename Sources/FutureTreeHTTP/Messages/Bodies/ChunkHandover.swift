import Dispatch
import Foundation
import FutureTree

/// The handover of chunks from a task that runs an asynchronous source to a thread that waits for them.
///
///     source ── read ──▶ task ── put ──▶ [ one chunk ] ── take ──▶ thread
///
/// The task requests one chunk while the thread still has bytes of the chunk before it. The thread then seldom waits, and
/// the source is never more than one chunk ahead.
///
/// # Invariants
/// 1. At most one chunk is stored. The task does not continue before the thread has taken that chunk.
/// 2. After the end or `stop` nothing is stored, and neither the thread nor the task waits.
///
/// # Lock
/// One lock guards the state. The semaphore is signalled, and the task is resumed and cancelled, after the lock is released.
final class ChunkHandover: Sendable {
  /// The error of a read that `stop` has ended.
  struct Stopped: Error {}

  private let state = Locked(HandoverState())
  private let arrival = DispatchSemaphore(value: 0)

  /// Starts the task that runs the source. Called at most once.
  ///
  /// A thread waits for the task, and on Linux each `URLSession` of the process waits for that thread, so the task precedes work
  /// that nothing waits for.
  func start(_ source: AsyncBodySource) {
    let task = Task(priority: .high) { end(await pass(source)) }
    if !state.withLock({ $0.started(task) }) { task.cancel() }
  }

  /// Returns the next chunk, or no bytes at the end. Blocks the thread until then. Used by one thread at a time.
  ///
  /// - Throws: The error of the source, or `Stopped`.
  func take() throws -> Data {
    while true {
      switch state.withLock({ $0.take() }) {
      case .wait: arrival.wait()
      case .end(let result): return try result.get()
      case .chunk(let chunk, let producer):
        producer.resume(returning: true)
        return chunk
      }
    }
  }

  /// Ends a wait of the thread at once, and cancels the task. Does nothing after the end. Handlers of the source for the
  /// cancellation of its task run on this thread.
  func stop() {
    end(.failure(Stopped()))
  }

  /// Passes all chunks to the thread. Returns the result of the source after its reader was released.
  private func pass(_ source: AsyncBodySource) async -> Result<Data, any Error> {
    let reader = source.open()
    do {
      while true {
        let chunk = try await reader.read(upTo: .max, isolation: nil)
        guard !chunk.isEmpty else { return .success(Data()) }
        guard await put(chunk) else { return .failure(Stopped()) }
      }
    } catch {
      return .failure(error)
    }
  }

  /// Stores the chunk, and waits until the thread has taken it. Returns whether it did.
  private func put(_ chunk: Data) async -> Bool {
    await withCheckedContinuation { producer in
      let action = state.withLock { $0.put(chunk, producer) }
      switch action {
      case .none: break
      case .wakeThread: arrival.signal()
      case .refuse: producer.resume(returning: false)
      }
    }
  }

  private func end(_ result: Result<Data, any Error>) {
    let released = state.withLock { $0.end(result) }
    if released.isThreadWaiting { arrival.signal() }
    released.producer?.resume(returning: false)
    released.task?.cancel()
  }
}

/// The state of a handover. Pure: takes no lock, resumes nothing.
private struct HandoverState {
  typealias Producer = CheckedContinuation<Bool, Never>

  enum TakeAction {
    /// Wait for a signal, then take again.
    case wait
    /// Resume the producer.
    case chunk(Data, Producer)
    case end(Result<Data, any Error>)
  }

  enum PutAction {
    case none, wakeThread, refuse
  }

  struct Released {
    var isThreadWaiting = false
    var chunk: Data?
    var producer: Producer?
    var task: Task<Void, Never>?
  }

  private var stored: (chunk: Data, producer: Producer)?
  private var result: Result<Data, any Error>?
  private var task: Task<Void, Never>?
  private var isThreadWaiting = false

  /// - Returns: Whether the task is still needed.
  mutating func started(_ task: Task<Void, Never>) -> Bool {
    guard result == nil else { return false }
    self.task = task
    return true
  }

  mutating func take() -> TakeAction {
    if let stored = stored.take() { return .chunk(stored.chunk, stored.producer) }
    if let result { return .end(result) }
    isThreadWaiting = true
    return .wait
  }

  mutating func put(_ chunk: Data, _ producer: Producer) -> PutAction {
    guard result == nil else { return .refuse }
    stored = (chunk, producer)
    return isThreadWaiting.take() ? .wakeThread : .none
  }

  /// - Returns: What is to be woken, cancelled and released outside the lock.
  mutating func end(_ result: Result<Data, any Error>) -> Released {
    guard self.result == nil else { return Released() }
    self.result = result
    let last = stored.take()
    return Released(
      isThreadWaiting: isThreadWaiting.take(), chunk: last?.chunk, producer: last?.producer, task: task.take())
  }
}

extension Bool {
  /// Sets the value to `false`, and returns the value before.
  fileprivate mutating func take() -> Bool {
    defer { self = false }
    return self
  }
}

/// The thread's side of a handover: a blocking reader of an asynchronous source.
final class BlockingChunks {
  let source: AsyncBodySource
  let handover = ChunkHandover()
  private var rest = Data()
  private var hasStarted = false

  init(_ source: AsyncBodySource) {
    self.source = source
  }

  /// Returns the next bytes, at most `maximum`, or no bytes at the end. The first read starts the task.
  func read(upTo maximum: Int) throws -> Data {
    if !hasStarted {
      hasStarted = true
      handover.start(source)
    }
    if rest.isEmpty { rest = try handover.take() }
    return rest.takePrefix(maximum)
  }

  deinit {
    handover.stop()
  }
}
