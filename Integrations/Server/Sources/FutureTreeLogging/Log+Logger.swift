import FutureTree
import FutureTreeHTTP
import Logging

extension Log {
  /// Creates a layer that writes its lines to a logger of swift-log.
  ///
  /// ```swift
  /// let api = Log(to: Logger(label: "api"), level: .debug) --> URLSessionLoader()
  ///
  /// let own = Log(to: context.logger) --> backend  // With the metadata of the incoming request.
  /// ```
  ///
  /// The lines are those of ``/FutureTreeHTTP/Log``: they contain no secrets, and `redaction` defines the values that they
  /// show. All lines have the same level, because the logger decides which lines it keeps.
  ///
  /// - Parameters:
  ///   - logger: The logger. Its metadata is part of each entry. A line is written by the thread on which a load begins or
  ///     ends, so a metadata provider that reads the context of the current task can find that of another load.
  ///   - level: The level of the entries. Defaults to `.info`.
  ///   - label: A prefix of the numbers, which distinguishes several logs. Defaults to `nil`.
  ///   - redaction: The values that lines show.
  ///   - clock: The clock that measures the duration of loads.
  public convenience init(
    to logger: Logger, level: Logger.Level = .info, label: String? = nil, redacting redaction: Redaction = .standard,
    clock: any FutureClock = .system
  ) {
    self.init({ logger.log(level: level, "\($0)") }, label: label, redacting: redaction, clock: clock)
  }
}
