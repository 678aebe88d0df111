/// The error of a load for which a mock has no answer.
public struct UnexpectedRequest: Error, Hashable, CustomStringConvertible {
  /// The method and the URL of the request, without the query.
  public let request: String
  /// The stubs of the mock, in the order in which they were made, each with the reason why it did not match.
  public let mismatches: [String]

  public var description: String {
    let advice = "Add a stub with `on`, `answer`, `fail` or `hold` before the load."
    guard !mismatches.isEmpty else {
      return "MockLoader has no response for \(request), because it has no stubs. \(advice)"
    }
    return "MockLoader has no response for \(request). \(advice) Its stubs:\n\(MockErrors.list(mismatches))"
  }
}

/// The error of a mock whose stubs were not used up, or that received unexpected requests.
public struct MockVerificationError: Error, Hashable, CustomStringConvertible {
  /// The stubs with answers that were never given. Each string has the matcher, the source location of the call, and
  /// the usage.
  public let unusedStubs: [String]
  /// The requests that matched no stub, in order.
  public let unexpectedRequests: [UnexpectedRequest]

  public var description: String {
    var parts: [String] = []
    if !unusedStubs.isEmpty {
      parts.append(
        "Stubs of a MockLoader were not used up. Send the expected requests, or remove the stubs:\n\(MockErrors.list(unusedStubs))"
      )
    }
    parts += unexpectedRequests.map(\.description)
    return parts.joined(separator: "\n")
  }
}

private enum MockErrors {
  /// Returns one line for each entry, at most 50 of them.
  static func list(_ lines: [String]) -> String {
    let shown = lines.prefix(50).map { "- \($0)" }
    let rest = lines.count - shown.count
    return (shown + (rest > 0 ? ["- and \(rest) more"] : [])).joined(separator: "\n")
  }
}
