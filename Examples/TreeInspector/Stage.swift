import FutureTree
import FutureTreeTesting
import Synchronization

/// Where a story is played: it has a clock that stands still between two moments, and a log of what the futures do.
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

  /// Plays a part of the story at a time of its own.
  func moment(_ title: String, _ text: String, after pause: Duration = .zero, _ body: () -> Void) {
    clock.advance(by: pause)
    body()
    takeEvents()
    state.withLock { state in
      state.moments.append(Moment(title: title, text: text, time: clock.now, lines: state.lines))
      state.lines = []
    }
  }

  /// A promise with a name and a handler, which tells the story that it was called. The stage keeps it.
  func source(
    _ name: String, caption: String? = nil, answers: String,
    _ handler: @escaping @Sendable () -> CancelRequestResponse<String>
  ) -> Promise<String> {
    let promise = Promise<String>()
    promise.future.named(name)
    promise.onRequestCancel { [weak self] _ in
      self?.say("\(name): its handler is called, and answers \(answers)")
      return handler()
    }
    if let caption { self.caption(name, caption) }
    state.withLock { $0.promises.append(promise) }
    return promise
  }

  /// Adds a line that no log has.
  func say(_ text: String) {
    add(.note(text))
  }

  /// Writes something below the name of a future.
  func caption(_ future: String, _ text: String) {
    add(.caption(future: future, text))
  }

  private func add(_ line: Moment.Line) {
    takeEvents()
    state.withLock { $0.lines.append(line) }
  }

  /// Takes over what the log has got meanwhile, so that events and other lines stand in the order of what happened.
  ///
  /// That nobody holds a future any more is left out: when that happens is the compiler's choice.
  private func takeEvents() {
    let events = log.events
    state.withLock { state in
      state.lines += events.dropFirst(state.taken).filter { $0.fact != .released }.map(Moment.Line.event)
      state.taken = events.count
    }
  }

  /// What happened, moment by moment.
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
