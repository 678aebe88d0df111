import FutureTree
import FutureTreeTesting
import Synchronization

/// The setting of a story: a clock that moves only between moments, and a log of the events of the futures.
final class Stage: Sendable {
  private struct State {
    var lines: [Moment.Line] = []
    var taken = 0
    var moments: [Moment] = []
    var promises: [Promise<String>] = []
  }

  private let clock = ManualClock()
  let log: FutureLog
  private let state = Mutex(State())

  init() {
    log = FutureLog(clock: clock)
  }

  /// Runs a part of the story at its own time.
  func moment(_ title: String, _ text: String, after pause: Duration = .zero, _ body: () -> Void) {
    clock.advance(by: pause)
    body()
    takeEvents()
    state.withLock { state in
      state.moments.append(Moment(title: title, text: text, time: clock.now, lines: state.lines))
      state.lines = []
    }
  }

  /// Returns a promise with a name and a handler, whose call is added to the story. The stage retains the promise.
  func source(
    _ name: String, caption: String? = nil, answers: String,
    _ handler: @escaping @Sendable () -> CancelRequestResponse<String>
  ) -> Promise<String> {
    let promise = Promise<String>()
    promise.future.named(name)
    promise.onRequestCancel { [weak self] _ in
      self?.say("\(name): its handler runs and answers \(answers)")
      return handler()
    }
    if let caption { self.caption(name, caption) }
    state.withLock { $0.promises.append(promise) }
    return promise
  }

  /// Adds a line that is in no log.
  func say(_ text: String) {
    add(.note(text))
  }

  /// Adds a caption below the name of a future.
  func caption(_ future: String, _ text: String) {
    add(.caption(future: future, text))
  }

  private func add(_ line: Moment.Line) {
    takeEvents()
    state.withLock { $0.lines.append(line) }
  }

  /// Moves new events of the log into the story, so that events and other lines have the order in which they happened.
  ///
  /// Events about the release of a future are left out, because the compiler chooses their time.
  private func takeEvents() {
    let events = log.events
    state.withLock { state in
      state.lines += events.dropFirst(state.taken).filter { $0.fact != .released }.map(Moment.Line.event)
      state.taken = events.count
    }
  }

  /// The moments of the story.
  var moments: [Moment] { state.withLock { $0.moments } }
}

/// One step of a story.
struct Moment {
  enum Line {
    case event(FutureEvent)
    case note(String)
    case caption(future: String, String)
  }

  let title: String
  let text: String
  let time: Duration
  let lines: [Line]
}
