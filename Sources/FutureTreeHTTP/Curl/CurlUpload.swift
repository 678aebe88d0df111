#if os(Linux)
  import Foundation
  import FutureTree

  /// The body of one request, from which libcurl takes bytes when the connection accepts them.
  ///
  ///     source ── task ──▶ [ one chunk ] ── take ──▶ thread of the engine
  ///
  /// Bytes in memory are taken directly. A task reads files and streams, at most one chunk ahead, so that no source blocks the
  /// thread of the engine. If no chunk is there, the transfer is paused, and the task resumes it.
  final class CurlUpload: Sendable {
    enum Taken {
      case bytes(Int)
      /// The next chunk is not there. `onReady` is called when it is.
      case wait
      case failed(HTTPError)
      /// The upload was stopped.
      case stopped
    }

    private let state: Locked<CurlUploadState>
    private let onReady: @Sendable () -> Void
    /// Completes when the source is released.
    let released: Future<Void>

    /// Opens a body. The task of a source begins at once.
    ///
    /// - Parameters:
    ///   - length: The announced number of bytes.
    ///   - trailers: The fields after the body.
    ///   - onReady: Called after `take` returned `wait`, on any thread.
    init(_ body: HTTPBody, length: Int?, _ trailers: RequestTrailers?, onReady: @escaping @Sendable () -> Void) {
      self.onReady = onReady
      if let data = body.data, trailers == nil {
        state = Locked(CurlUploadState(data))
        released = .succeeded
        return
      }
      state = Locked(CurlUploadState())
      let promise = Promise<Void>()
      released = promise.future
      // The size of a file was read when the request was loaded. It may have changed.
      let checked: HTTPBody =
        if case .file = body.content { .stream(length: length) { try body.makeReader() } } else { body }
      let task = Task { [self] in
        defer { promise.succeed() }
        var result = Result<HTTPHeaders, any Error>.success(HTTPHeaders())
        do {
          let computation = trailers?.begin()
          for try await chunk in checked.chunks() {
            computation?.receive(chunk)
            guard await put(chunk) else { return }
          }
          if let computation { result = try .success(computation.finish()) }
        } catch {
          result = .failure(error)
        }
        if state.withLock({ $0.sourceEnded(result) }) { onReady() }
      }
      if !state.withLock({ $0.started(task) }) { task.cancel() }
    }

    /// Whether the whole body was taken.
    var isSent: Bool { state.withLock { $0.isSent } }

    /// The fields after the body, which was taken whole.
    var trailers: HTTPHeaders { state.withLock { $0.trailers } }

    /// Copies the next bytes. `bytes(0)` is the end of the body.
    func take(_ buffer: UnsafeMutableRawBufferPointer) -> Taken {
      let (taken, producer) = state.withLock { $0.take(buffer) }
      producer?.resume(returning: true)
      return taken
    }

    /// Stops the task of the source. Called at any time.
    func stop() {
      let (task, producer) = state.withLock { $0.stop() }
      producer?.resume(returning: false)
      task?.cancel()
    }

    /// Stores a chunk, and waits until all of it was taken. Returns whether it was.
    private func put(_ chunk: Data) async -> Bool {
      await withCheckedContinuation { producer in
        switch state.withLock({ $0.put(chunk, producer) }) {
        case .none: break
        case .report: onReady()
        case .refuse: producer.resume(returning: false)
        }
      }
    }
  }

  /// The state of an upload. Pure: takes no lock, resumes nothing.
  ///
  /// # Invariants
  /// 1. At most one chunk is stored, and its producer waits until it is empty.
  /// 2. After `stop` nothing is stored, and every chunk is refused.
  struct CurlUploadState {
    typealias Producer = CheckedContinuation<Bool, Never>

    enum PutAction {
      case none
      /// Report that bytes are there.
      case report
      case refuse
    }

    private var rest: Data
    private var producer: Producer?
    /// The fields after the body, or the error of its source.
    private var ending: Result<HTTPHeaders, any Error>?
    private var task: Task<Void, Never>?
    /// Whether a take found no bytes.
    private var isAwaited = false
    private var isStopped = false

    /// The state of a body from a source.
    init() { rest = Data() }

    /// The state of a body in memory.
    init(_ data: Data) {
      rest = data
      ending = .success(HTTPHeaders())
    }

    var isSent: Bool {
      if case .success? = ending { rest.isEmpty } else { false }
    }

    var trailers: HTTPHeaders { if case .success(let fields)? = ending { fields } else { HTTPHeaders() } }

    /// - Returns: Whether the task continues.
    mutating func started(_ task: Task<Void, Never>) -> Bool {
      guard !isStopped else { return false }
      if ending == nil { self.task = task }
      return true
    }

    mutating func put(_ chunk: Data, _ producer: Producer) -> PutAction {
      guard !isStopped else { return .refuse }
      (rest, self.producer) = (chunk, producer)
      defer { isAwaited = false }
      return isAwaited ? .report : .none
    }

    /// - Returns: Whether the end is awaited.
    mutating func sourceEnded(_ result: Result<HTTPHeaders, any Error>) -> Bool {
      (ending, task) = (result, nil)
      defer { isAwaited = false }
      return isAwaited && !isStopped
    }

    mutating func take(_ buffer: UnsafeMutableRawBufferPointer) -> (CurlUpload.Taken, Producer?) {
      guard !isStopped else { return (.stopped, nil) }
      guard rest.isEmpty else {
        let count = min(buffer.count, rest.count)
        rest.copyBytes(to: buffer, count: count)
        rest = rest.dropFirst(count)
        return (.bytes(count), rest.isEmpty ? producer.take() : nil)
      }
      switch ending {
      case .success: return (.bytes(0), nil)
      case .failure(let error): return (.failed(CurlUploadState.error(error)), nil)
      case nil:
        isAwaited = true
        return (.wait, nil)
      }
    }

    mutating func stop() -> (Task<Void, Never>?, Producer?) {
      isStopped = true
      rest = Data()
      return (task.take(), producer.take())
    }

    private static func error(_ error: any Error) -> HTTPError {
      error as? HTTPError ?? HTTPError(.unreadableBody, "The body of the request could not be read.", underlying: error)
    }
  }
#endif
