import Dispatch

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The signals that ask this process to end, as cancellation: the first one asks, and the second one forces.
///
/// ```swift
/// let signals = ProcessSignals()
/// _ = await build.cancel(when: signals, grace: .seconds(5)).outcome
/// if let code = signals.exitCode { exit(code) }
/// ```
///
/// While an object receives a signal, the signal does not end the process:
///
/// - The first signal cancels ``token``.
/// - The second signal cancels ``forceToken``. From then on, the signals have their former effect again.
/// - The third signal therefore ends the process, unless the program handled it before.
///
/// All objects receive all signals that they name. An object receives them until the second one or ``stop()``, even if
/// nothing holds it. Control-C in a terminal is also sent to the child processes of the program.
///
/// Bodies that are registered with the tokens run one at a time on a queue of the library, never in the signal handler, and can
/// do anything. An object can be used from any thread.
///
/// The first object opens a pipe, which the process keeps. If the process can open no files, the signals keep their effect.
///
/// - Note: The signal handler calls only functions that POSIX.1-2024, section 2.4.3, allows there.
public final class ProcessSignals: Sendable {
  /// A signal that asks a process to end.
  public struct Signal: Sendable, Hashable, CustomStringConvertible {
    /// The number of the signal on this platform.
    public let number: Int32
    /// The name of the signal, such as `SIGINT`.
    public let description: String

    /// `SIGINT`: control-C in a terminal.
    public static let interrupt = Signal(number: SIGINT, description: "SIGINT")
    /// `SIGTERM`: the request of `kill`, of service managers and of containers.
    public static let terminate = Signal(number: SIGTERM, description: "SIGTERM")
    /// `SIGHUP`: the terminal was closed.
    public static let hangUp = Signal(number: SIGHUP, description: "SIGHUP")
    /// `SIGQUIT`: control-\ in a terminal.
    public static let quit = Signal(number: SIGQUIT, description: "SIGQUIT")
  }

  private let sources = (ask: CancellationTokenSource(), force: CancellationTokenSource())
  private let first = Locked<Signal?>(nil)
  private let signals: Set<Signal>

  /// Receives signals, instead of their effect until now.
  ///
  /// - Parameter signals: The signals to receive. Defaults to `interrupt` and `terminate`.
  public convenience init(_ signals: Set<Signal> = [.interrupt, .terminate]) {
    self.init(uninstalled: signals)
    SignalHandlers.shared.add(self, for: signals)
  }

  /// Creates an object that receives only the signals that are passed to ``receive(_:)``.
  init(uninstalled signals: Set<Signal>) {
    self.signals = signals
  }

  /// A token that the first signal cancels. The reason has the kind `shutdown` and the name of the signal.
  public var token: CancellationToken { sources.ask.token }

  /// A token that the second signal cancels.
  public var forceToken: CancellationToken { sources.force.token }

  /// The exit code that a shell expects after the first signal: 128 plus its number. `nil` if there was no signal.
  public var exitCode: Int32? { first.value.map { 128 + $0.number } }

  /// Gives the signals their former effect, unless another object receives them. Later signals do not reach the tokens.
  public func stop() {
    SignalHandlers.shared.remove(self, for: signals)
  }

  /// Cancels the token of the first or the second signal.
  func receive(_ signal: Signal) {
    let isFirst = first.withLock { first in
      defer { first = first ?? signal }
      return first == nil
    }
    if isFirst {
      sources.ask.cancel(reason: .of(.shutdown, signal.description), fileID: "", line: 0)
    } else {
      stop()
      sources.force.cancel(reason: .of(.shutdown, "\(signal), the second signal"), fileID: "", line: 0)
    }
  }
}

// MARK: - Cancelling futures and scopes

extension Future {
  /// Asks this future to cancel when the process receives a signal, forces it at the second signal, and returns this future.
  ///
  /// ```swift
  /// _ = await build.cancel(when: signals, grace: .seconds(5)).outcome
  /// ```
  ///
  /// The requests are those of ``cancel(_:grace:reason:clock:fileID:line:)``, and are not attributed to a consumer. If a signal was
  /// received before, the request is made now.
  ///
  /// - Parameters:
  ///   - signals: The signals.
  ///   - period: The time after the first signal that this future has to complete before it is forced. `nil` waits for the
  ///     second signal.
  ///   - clock: The clock that measures the period. Defaults to `.system`.
  ///   - fileID: The file of the call, for the reason.
  ///   - line: The line of the call.
  /// - Returns: This future. The call derives no new future.
  /// - Complexity: O(1).
  @discardableResult
  public func cancel(
    when signals: ProcessSignals, grace period: Duration? = nil, clock: any FutureClock = .system,
    fileID: String = #fileID, line: UInt = #line
  ) -> Future {
    signals.token.register(until: self) { reason in
      cancel(grace: period, reason: reason, clock: clock, fileID: fileID, line: line)
    }
    signals.forceToken.register(until: self) { reason in
      cancel(.forceImmediately, reason: reason, fileID: fileID, line: line)
    }
    return self
  }
}

extension CancelScope {
  /// Asks the work of the scope to cancel when the process receives a signal, ends the scope, and forces the work at the second
  /// signal.
  ///
  /// ```swift
  /// try await withCancelScope("crawl") { scope in
  ///   scope.cancel(when: signals, grace: .seconds(5))
  ///   for url in urls { scope.add(api.page(url)) }
  /// }
  /// ```
  ///
  /// The requests are those of ``cancel(_:grace:reason:clock:fileID:line:)``. Undos are not forced. If a signal was received before,
  /// the request is made now.
  ///
  /// - Parameters:
  ///   - signals: The signals.
  ///   - period: The time after the first signal that the work has to complete before it is forced. `nil` waits for the
  ///     second signal.
  ///   - clock: The clock that measures the period. Defaults to `.system`.
  ///   - fileID: The file of the call, for the reason.
  ///   - line: The line of the call.
  /// - Complexity: O(1).
  public func cancel(
    when signals: ProcessSignals, grace period: Duration? = nil, clock: any FutureClock = .system,
    fileID: String = #fileID, line: UInt = #line
  ) {
    // The scope is not retained: a dropped scope ends.
    signals.token.register(until: future) { [core] reason in
      let request = CancelRequest(options: [], reason: reason, fileID: fileID, line: line)
      _ = core.cancel(request, grace: period, clock)
    }
    signals.forceToken.register(until: future) { [core] reason in
      _ = core.forceWork(CancelRequest(options: .forceImmediately, reason: reason, fileID: fileID, line: line))
    }
  }
}

/// The signals that this process receives, and the objects that receive them.
private final class SignalHandlers: Sendable {
  static let shared = SignalHandlers()

  private struct Entry {
    var receivers: [ProcessSignals]
    /// The effect of the signal before.
    var former: sigaction
  }

  private struct State {
    var entries: [ProcessSignals.Signal: Entry] = [:]
    /// Reads the pipe. `nil` before the first signal is added.
    var reader: (any DispatchSourceRead)?
  }

  private let state = Locked(State())

  func add(_ receiver: ProcessSignals, for signals: Set<ProcessSignals.Signal>) {
    guard let pipe = SignalPipe.shared else { return }
    state.withLock { state in
      if state.reader == nil { state.reader = reader(of: pipe) }
      for added in signals {
        if state.entries[added] == nil {
          var former = sigaction()
          sigaction(added.number, nil, &former)
          state.entries[added] = Entry(receivers: [], former: former)
          // `signal` repeats interrupted system calls, as `SA_RESTART` does.
          _ = signal(added.number) { number in SignalPipe.shared?.put(number) }
        }
        state.entries[added]?.receivers.append(receiver)
      }
    }
  }

  func remove(_ receiver: ProcessSignals, for signals: Set<ProcessSignals.Signal>) {
    state.withLock { state in
      for removed in signals {
        state.entries[removed]?.receivers.removeAll { $0 === receiver }
        guard var entry = state.entries[removed], entry.receivers.isEmpty else { continue }
        sigaction(removed.number, &entry.former, nil)
        state.entries[removed] = nil
      }
    }
  }

  private func reader(of pipe: SignalPipe) -> any DispatchSourceRead {
    let reader = DispatchSource.makeReadSource(
      fileDescriptor: pipe.input, queue: DispatchQueue(label: "FutureTree.ProcessSignals"))
    reader.setEventHandler { [self] in
      while let number = pipe.take() {
        let entry = state.withLock { state in state.entries.first { $0.key.number == number } }
        guard let (signal, receivers) = entry.map({ ($0.key, $0.value.receivers) }) else { continue }
        for receiver in receivers { receiver.receive(signal) }
      }
    }
    reader.activate()
    return reader
  }
}

/// A pipe from the signal handler to a queue, with a byte for each signal: its number.
private struct SignalPipe {
  let input: Int32
  private let output: Int32

  /// `nil` if the process can open no files. It is read before the first signal handler is installed, so a handler never
  /// creates it.
  static let shared = SignalPipe()

  private init?() {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends {
      // A full pipe has signals enough. A child process has no use for the pipe.
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
    }
    (input, output) = (ends[0], ends[1])
  }

  /// Called in a signal handler.
  func put(_ number: Int32) {
    let error = errno
    var byte = UInt8(truncatingIfNeeded: number)
    _ = write(output, &byte, 1)
    errno = error
  }

  /// Returns the number of the next signal, or `nil` if there is none.
  func take() -> Int32? {
    var byte: UInt8 = 0
    return read(input, &byte, 1) == 1 ? Int32(byte) : nil
  }
}
