import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting

/// A suite of checks of the HTTP contract that any transport can be run against.
///
/// ```swift
/// let conformance = TransportConformance("MyTransport") { MyTransport() }
/// let report = await conformance.run()
/// print(report)
/// #expect(report.isConforming)
/// ```
///
/// A transport is a loader that ends a chain. Each check creates a transport and a `LoopbackServer`, which behaves well or
/// badly, and judges the transport by its futures and by the records of the server. The suite needs no test library. It works on
/// loopback only, with HTTP/1.1 and without TLS.
///
/// **Limits.** If the platform below a transport prevents it from keeping a rule, list the check in a table of known limits. The
/// report shows the failure as a limit. If the check passes later, the report asks for an update of the table, and
/// `Report.isConforming` is `false`. A check that ends the process is only run if `run(only:)` names it, so `run()` does not
/// report that its limit has disappeared.
///
/// **Time limit.** A check that does not end is a failure, and the other checks continue. A passing check does not wait for any
/// period of time, except for the short time limits of its requests and for one upload of two seconds.
///
/// **Confirmed cancellation.** A cancelled load ends when its connection is closed. The server must record the close before it has
/// answered 20 later loads. A forced load is exempt.
///
/// - Note: The transport must have no time limits of its own, because a check can wait on a busy machine. It must support four
///   connections to a server at a time.
public struct TransportConformance: Sendable {
  /// The name of the transport, for the report.
  public let name: String

  private let limits: [Limit]
  private let addedFields: Set<String>
  private let timeLimit: Duration
  private let clock: any FutureClock
  private let makeTransport: @Sendable () throws -> any HTTPLoader

  /// Creates a suite for a transport.
  ///
  /// ```swift
  /// let conformance = TransportConformance(
  ///   "URLSessionLoader", limits: [.init(.headerOrder, "The platform sorts the fields by name.")],
  ///   addedFields: ["Accept-Encoding", "User-Agent"]
  /// ) { URLSessionLoader(.init(timeout: nil)) }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of the transport, for the report.
  ///   - limits: The known limits of the platform. Defaults to none.
  ///   - addedFields: The header fields that the transport is documented to add to each request. `Host`, `Connection` and the
  ///     fields of a body (`Content-Length`, `Transfer-Encoding`, `Content-Type`) are always allowed.
  ///   - timeLimit: The time limit of each check. It only limits the duration of failing checks. Defaults to 60 seconds.
  ///   - clock: The clock of the time limit.
  ///   - makeTransport: Creates a transport without time limits. It is called once for each check.
  public init(
    _ name: String, limits: [Limit] = [], addedFields: [String] = [], timeLimit: Duration = .seconds(60),
    clock: any FutureClock = .system, makeTransport: @escaping @Sendable () throws -> any HTTPLoader
  ) {
    self.name = name
    self.limits = limits
    self.addedFields = Set(addedFields.map { $0.lowercased() })
    self.timeLimit = timeLimit
    self.clock = clock
    self.makeTransport = makeTransport
  }

  /// A known limit of the platform below a transport: a check that fails, and the reason.
  ///
  /// ```swift
  /// let limit = TransportConformance.Limit(.methodCase, "The platform sends upper case.", faultText: "was sent as")
  /// ```
  public struct Limit: Sendable {
    /// The check that fails.
    public let check: Check
    /// What happens, and how long it takes.
    public let text: String
    /// A text that each fault of the check contains. If a fault does not contain it, the check fails in spite of the limit.
    /// `nil` permits each fault.
    public let faultText: String?
    /// Whether the check ends the process. Such a check is only run if `run(only:)` names it.
    public let endsProcess: Bool

    /// Creates a limit.
    public init(_ check: Check, _ text: String, faultText: String? = nil, endsProcess: Bool = false) {
      self.check = check
      self.text = text
      self.faultText = faultText
      self.endsProcess = endsProcess
    }

    func permits(_ fault: String) -> Bool { faultText.map(fault.contains) ?? true }
  }

  /// Runs the checks, one after the other.
  ///
  /// ```swift
  /// let report = await conformance.run(only: [.redirects, .cookies])
  /// ```
  ///
  /// Without `checks`, all checks are run, except those that are known to end the process. A test can run such a check in a
  /// process of its own:
  ///
  /// ```swift
  /// await #expect(processExitsWith: .failure) { _ = await conformance.run(only: [.trailers]) }
  /// ```
  ///
  /// If the task is cancelled, the current check and the remaining checks fail.
  ///
  /// - Parameter checks: The checks to run, in this order. `nil` runs all checks, except those that end the process.
  /// - Returns: A report with one entry for each check.
  public func run(only checks: [Check]? = nil) async -> Report {
    var entries: [Report.Entry] = []
    for check in checks ?? Check.all {
      let limit = limits.first { $0.check == check }
      if checks == nil, let limit, limit.endsProcess {
        entries.append(Report.Entry(check: check, result: .notRun(limit.text), duration: .zero))
        continue
      }
      let start = clock.now
      let (faults, hasBegun) = await faults(of: check)
      let result: Report.Result =
        switch (hasBegun ? limit : nil, faults.isEmpty) {
        case (nil, true): .passed
        case (let limit?, true): .limitDisappeared(limit.text)
        case (let limit?, false) where faults.allSatisfy(limit.permits): .limited(limit.text, faults)
        case (_, false): .failed(faults)
        }
      entries.append(Report.Entry(check: check, result: result, duration: clock.now - start))
    }
    return Report(name: name, entries: entries)
  }

  /// Runs a check, and returns its faults. A check that could not begin does not show a limit of the platform. The check stops at
  /// the time limit, even if it does not respond to cancellation.
  private func faults(of check: Check) async -> (faults: [String], hasBegun: Bool) {
    let run: CheckRun
    do { run = try CheckRun(LoopbackServer(), makeTransport(), addedFields) } catch {
      return (["The check could not begin: \(error)"], false)
    }
    let body = Future.task { try await check.body(run) }.timeout(after: timeLimit, clock: clock)
    let outcome = await body.outcome
    let record = run.server.record
    run.server.stop()
    switch outcome {
    case .success: break
    case .failure(let error as TimeoutError):
      let received =
        record.connections.isEmpty ? "The server accepted no connection." : "The server received:\n\(record)"
      run.report("The check did not end within \(error.duration.rounded). \(received)")
    case .failure(let error): run.report("\(error)")
    case .cancelled(let reason): run.report("The check was cancelled: \(reason)")
    }
    return (run.faults, true)
  }
}
