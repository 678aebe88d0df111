import FutureTreeHTTPTesting

extension TransportConformance {
  /// One check of a suite: a claim about a transport that follows from a rule of the HTTP contract.
  ///
  /// ```swift
  /// for check in TransportConformance.Check.all { print(check.id, check.title, check.rule) }
  /// ```
  public struct Check: Sendable, Hashable, CustomStringConvertible {
    /// The identifier. It is stable across versions.
    public let id: String

    /// The claim about a transport that passes the check.
    public let title: String

    /// The rule of the HTTP contract, with its name.
    public var rule: String { line.rawValue }

    let line: Rule
    let body: @Sendable (CheckRun) async throws -> Void

    init(_ id: String, _ line: Rule, _ title: String, _ body: @escaping @Sendable (CheckRun) async throws -> Void) {
      self.id = id
      self.title = title
      self.line = line
      self.body = body
    }

    /// All checks, in the order of a run.
    public static let all: [Check] = completion + requests + secrecy + heads + framing + delivery + streams

    public static func == (first: Check, second: Check) -> Bool { first.id == second.id }

    public func hash(into hasher: inout Hasher) {
      hasher.combine(id)
    }

    /// The identifier.
    public var description: String { id }
  }

  /// A rule of the HTTP contract that a transport can break.
  enum Rule: String, Sendable {
    case completesOnce = "H1 (completes once)"
    case holderCompletes = "H2 (the holder completes)"
    case nothingAfterCompletion = "H4 (nothing after completion)"
    case confirmedCancellation = "H5 (confirmed cancellation)"
    case reset = "H6 (refuse, drain, wipe)"
    case oneExecution = "H7 (one load, one execution)"
    case injectedTime = "H8 (injected time)"
    case asSent = "H9 (nothing is rewritten silently)"
    case origin = "H10 (credentials never cross an origin)"
    case secrets = "H11 (no printed secret)"
    case wholeBodies = "H12 (whole bodies)"
    case tolerantReading = "H13 (tolerant reading)"
    case atHead = "S1 (delivered at the head)"
    case byTransfer = "S3 (cancelled by its transfer)"
    case backPressure = "S4 (back-pressure or an error)"
    case endedByReset = "S7 (ended by a reset)"
  }
}
