import FutureTree

/// Writes a line when a load begins and a line when it has ended.
///
/// ```swift
/// let api = Log() --> URLSessionLoader()
/// ```
/// ```
/// [1] GET https://example.com/feed?page=REDACTED: begins
/// [2] POST https://example.com/comments: begins, sends 1.4 kB
/// [2] POST https://example.com/comments: 201 in 12 ms, 31 bytes
/// [1] GET https://example.com/feed?page=REDACTED: cancelled after 1.4 s: the tab was closed (App/Tab.swift:7)
/// ```
///
/// Each load has a number, counted from 1 in each log, which stands in both of its lines. The number of the attempt follows
/// from the second on: behind a `Retry`, the log writes each attempt, before it, each load. Of an error the code is written,
/// or the type if it is no `HTTPError`.
///
/// A line shows no secret: `Redaction` says which values it shows, and of bodies it knows the size alone. It is one line,
/// whatever is in a URL or a reason: what could break it, or turn the direction of writing, is escaped, and long texts are
/// cut.
///
/// The writer is called under no lock, on the thread of the load and then on that of its end, for one load in this order,
/// and for several at once: it must bear that. What it loads itself, in the call or in a task that it starts there, is not
/// logged. A request with the option `RequestLogging` set to false is not logged.
///
/// **Cancellation.** It holds nothing back: the future is that of the next loader, and watching it wants nothing. A load
/// that was cancelled says why, and which line asked; one whose end was forced is logged at that moment, once.
///
/// **Reset.** It keeps nothing but the last number, which goes on.
///
/// **In two chains** the loads of both are counted together.
public final class Log: HTTPLayer {
  private let write: @Sendable (String) -> Void
  private let label: String?
  private let redaction: Redaction
  private let clock: any FutureClock
  private let lastNumber = Locked(0)

  /// - Parameters:
  ///   - write: gets each line, without a line break; it is printed if nothing else is said.
  ///   - label: stands before the numbers, to tell two logs apart.
  ///   - redaction: which values lines show.
  ///   - clock: what measures how long a load took.
  public init(
    _ write: @escaping @Sendable (String) -> Void = { print($0) }, label: String? = nil,
    redacting redaction: Redaction = .standard, clock: any FutureClock = .system
  ) {
    self.write = write
    self.label = label
    self.redaction = redaction
    self.clock = clock
  }

  /// Loads, and writes that.
  ///
  /// - Returns: the future of `next`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    guard request[option: RequestLogging.self], !Observing.isUnderWay else { return next.load(request) }
    let number = lastNumber.withLock { number in
      number += 1
      return number
    }
    let text = LogText(number: number, label: label, request, redaction)
    Observing.call { write(text.start) }
    let start = clock.now
    let future = next.load(request)
    future.observe { [write, clock] outcome in
      let line = text.end(outcome, after: clock.now - start)
      Observing.call { write(line) }
    }
    return future
  }
}

/// Whether a `Log` writes what becomes of a request.
///
/// ```swift
/// request[option: RequestLogging.self] = false  // Asked every second, and of no interest.
/// ```
public enum RequestLogging: HTTPRequestOption {
  /// It does.
  public static var defaultValue: Bool { true }
}
