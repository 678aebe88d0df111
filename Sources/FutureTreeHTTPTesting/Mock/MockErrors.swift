/// The error of a load for which a mock had no answer.
public struct UnexpectedRequest: Error, Hashable, CustomStringConvertible {
  /// Method and URL of the request, without the query.
  public let request: String
  /// The stubs that there were, in the order in which they were made, and why each was not for this request.
  public let mismatches: [String]

  public var description: String {
    let advice = "Add a stub with `on`, `answer`, `fail` or `hold` before the load."
    guard !mismatches.isEmpty else {
      return "MockLoader has no answer for \(request), because it has no stubs. \(advice)"
    }
    return "MockLoader has no answer for \(request). \(advice) Its stubs:\n\(MockErrors.list(mismatches))"
  }
}

/// The error of a mock that was not used as it was told it would be.
public struct MockVerificationError: Error, Hashable, CustomStringConvertible {
  /// The stubs that have answers left that were never given: what they are for, where they were made, how far they came.
  public let unusedStubs: [String]
  /// The requests that met no stub, in order.
  public let unexpectedRequests: [UnexpectedRequest]

  public var description: String {
    var parts: [String] = []
    if !unusedStubs.isEmpty {
      parts.append(
        "Stubs of a MockLoader have unused answers. Send the expected requests, or remove the stubs:\n\(MockErrors.list(unusedStubs))"
      )
    }
    parts += unexpectedRequests.map(\.description)
    return parts.joined(separator: "\n")
  }
}

private enum MockErrors {
  /// A line each. A queue of a thousand answers is not printed in full.
  static func list(_ lines: [String]) -> String {
    let shown = lines.prefix(50).map { "- \($0)" }
    let rest = lines.count - shown.count
    return (shown + (rest > 0 ? ["- and \(rest) more"] : [])).joined(separator: "\n")
  }
}
