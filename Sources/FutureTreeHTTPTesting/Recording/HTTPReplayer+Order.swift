import FutureTree
import FutureTreeHTTP
import FutureTreeTesting

extension HTTPReplayer {
  /// Repeats the order and the times in which the recorded loads ended and received cancellation requests.
  ///
  /// ```swift
  /// let replayer = HTTPReplayer(recording)
  /// let feed = Feed(api: Retry(clock: clock) --> replayer, clock: clock)  // Begins its first load.
  /// try replayer.replay(on: clock)
  /// ```
  ///
  /// The first load of the recording begins now. Before each step, the clock is advanced to the time of the step, and the timers that
  /// are due run in order. Jobs of the executor run after each timer and each step, in the order in which they were added.
  ///
  /// - A recorded response, or error, completes its load.
  /// - A recorded cancellation request is made again, with its options and its reason. It is made of the load, and not of the derived
  ///   future that the program cancelled. As when it was recorded, the load ends at its own step.
  /// - A load that was in flight at the end of the recording remains pending.
  ///
  /// - Parameters:
  ///   - clock: The clock of the program.
  ///   - executor: The executor of the program. `nil`, the default, runs no jobs.
  /// - Throws: ``ReplayDiverged`` if the program has not begun a load whose step is next. Earlier steps were performed.
  public func replay(on clock: ManualClock, running executor: ManualExecutor? = nil) throws {
    guard let first = steps.first else { return }
    let offset = clock.now - first.time
    executor?.runAll()
    for step in steps {
      let time = step.time + offset
      while let deadline = clock.nextDeadline, deadline <= time {
        clock.advanceToNextTimer()
        executor?.runAll()
      }
      if time > clock.now { clock.advance(by: time - clock.now) }
      guard step.event != .began else { continue }
      guard let load = waiting.withLock({ $0[step.entry] }) else {
        throw ReplayDiverged(request: entries[step.entry].request.summary, step: "\(step.event)")
      }
      perform(step, load)
      executor?.runAll()
    }
  }

  private func perform(_ step: ReplayStep, _ load: WaitingLoad) {
    switch step.event {
    case .began: break
    case .cancelRequested(let request): load.promise.future.cancel(request.options, reason: request.reason)
    case .cancelled(let reason): load.promise.completeCancelled(reason)
    case .answered:
      do {
        load.promise.succeed(try entries[step.entry].response.response(to: load.request).delivered(for: load.request))
      } catch {
        load.promise.fail(error)
      }
    }
  }
}

/// A load of a replayer that waits for its step.
struct WaitingLoad {
  let request: HTTPRequest
  let promise: Promise<HTTPResponse>
}

/// One recorded event that comes from outside of the program.
struct ReplayStep: Sendable {
  enum Event: Sendable, Equatable, CustomStringConvertible {
    /// The load began. Marks the time of the first step.
    case began
    case cancelRequested(CancelRequest)
    case cancelled(CancellationReason)
    case answered

    /// Whether the load ends.
    var isEnd: Bool {
      switch self {
      case .began, .cancelRequested: false
      case .cancelled, .answered: true
      }
    }

    var description: String {
      switch self {
      case .began: "the load"
      case .cancelRequested: "the cancellation request"
      case .cancelled: "the cancellation"
      case .answered: "the response"
      }
    }
  }

  /// The index of the entry.
  let entry: Int
  let time: Duration
  let event: Event

  /// Returns the steps of a recording, in the order of its events.
  static func all(of entries: [HTTPArchive.Entry], _ log: FutureLog.Recording) -> [ReplayStep] {
    var indices: [Int: Int] = [:]
    for (index, entry) in entries.enumerated() { entry._future.map { indices[$0] = index } }
    return log.events.compactMap { event in
      guard let entry = indices[event.future] else { return nil }
      let step: Event
      switch event.fact {
      case .joined, .created: step = .began
      case .cancelRequested(let request): step = .cancelRequested(request)
      case .cancelled(let reason): step = .cancelled(reason)
      case .succeeded, .failed: step = .answered
      case .named, .linked, .withheld, .released: return nil
      }
      return ReplayStep(entry: entry, time: event.time, event: step)
    }
  }
}

/// The error of a replay whose program behaves differently than the recorded one.
public struct ReplayDiverged: Error, Hashable, CustomStringConvertible {
  /// The method and the URL of the request that the program has not loaded.
  public let request: String
  /// The recorded event of that load, such as `the response`.
  public let step: String

  public var description: String {
    "The replay has stopped before \(step) of \(request): the program has not loaded this request yet. Give the program the clock of "
      + "the replay, and its executor, or record again."
  }
}
