import FutureTree

/// A layer that writes one log line when a load begins, and another when it completes. A stream completes with its transfer.
///
/// ```swift
/// let api = Log() --> SystemLoader()
/// ```
/// ```
/// [1] GET https://example.com/feed?page=REDACTED: begins
/// [2] POST https://example.com/comments: begins, sends 1.4 kB
/// [2] POST https://example.com/comments: 201 in 12 ms, 31 bytes
/// [1] GET https://example.com/feed?page=REDACTED: cancelled after 1.4 s: the tab was closed (App/Tab.swift:7)
/// [3] GET https://example.com/events: begins
/// [3] GET https://example.com/events: 200, then failed after 2 min 5 s and 3.1 kB: connectionLost
/// ```
///
/// Each load has a number, counted from 1 in each log, which is part of both lines. From the second attempt on, the
/// number of the attempt follows. A log after `Retry` writes each attempt. A log before `Retry` writes each load. For an
/// error, the line contains its code, or its type if it is not an `HTTPError`.
///
/// Lines contain no secrets: `Redaction` defines which values are shown, and only the sizes of bodies are shown. An
/// entry is always one line. Characters in a URL or a reason that could break the line or change the writing direction
/// are escaped. Long strings are shortened.
///
/// The writer is called outside every lock: first on the thread that begins the load, and then on the thread on which
/// the load completes. The two calls for one load are always in this order. Calls for several loads can be concurrent,
/// so the writer must be thread-safe. Requests that the writer loads itself, in the call or in a task that it starts
/// there, are not logged. Requests whose option `RequestLogging` is `false` are not logged.
///
/// **Cancellation.** The layer holds no requests. It returns the future of the next loader and observes it without
/// interest. The line of a cancelled load contains the reason, and the file and line of the cancellation request. A load
/// that is forced to complete is logged once, at that moment.
///
/// **Reset.** The layer keeps only the last number, and continues to count from it.
///
/// **In two chains.** The loads of both chains are counted together.
public final class Log: HTTPLayer {
  private let write: @Sendable (String) -> Void
  private let label: String?
  private let redaction: Redaction
  private let clock: any FutureClock
  private let lastNumber = Locked(0)

  /// Creates the layer.
  ///
  /// - Parameters:
  ///   - write: The closure that receives each line, without a line break. By default, lines are printed.
  ///   - label: A prefix of the numbers, which distinguishes several logs. Defaults to `nil`.
  ///   - redaction: The values that lines show.
  ///   - clock: The clock that measures the duration of loads.
  public init(
    _ write: @escaping @Sendable (String) -> Void = { print($0) }, label: String? = nil,
    redacting redaction: Redaction = .standard, clock: any FutureClock = .system
  ) {
    self.write = write
    self.label = label
    self.redaction = redaction
    self.clock = clock
  }

  /// Forwards the request, and logs the load.
  ///
  /// - Returns: The future of `next`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    guard request.isLogged, !Observing.isUnderWay else { return next.load(request) }
    let number = lastNumber.withLock { number in
      number += 1
      return number
    }
    let text = LogText(number: number, label: label, request, redaction)
    Observing.call { write(text.start) }
    let start = clock.now
    let future = next.load(request)
    future.observeTransfer(with: (self, text, start)) { context, outcome, transfer in
      let (log, text, start) = context
      let line = text.end(outcome, transfer, after: log.clock.now - start)
      Observing.call { log.write(line) }
    }
    return future
  }
}

/// A request option that determines whether `Log` writes the load.
///
/// ```swift
/// request.isLogged = false  // A poll every second.
/// ```
public enum RequestLogging: HTTPRequestOption {
  /// Defaults to `true`.
  public static var defaultValue: Bool { true }
}

extension HTTPRequest {
  /// Whether `Log` writes lines for this request.
  public var isLogged: Bool {
    get { self[option: RequestLogging.self] }
    set { self[option: RequestLogging.self] = newValue }
  }
}
