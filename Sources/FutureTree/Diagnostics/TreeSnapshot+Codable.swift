/// Encoded as `{"futures": [{"name": "user", "state": {"kind": "pending"}, …}]}`.
///
/// The field names are stable; later versions may add fields. <doc:Pictures> lists them.
extension TreeSnapshot: Codable {
  private enum CodingKeys: String, CodingKey {
    case entries = "futures"
  }

  /// - Throws: `DecodingError` if the data is invalid, or if a future refers to a future that is not in the snapshot.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    entries = try container.decode([Entry].self, forKey: .entries)
    for (position, entry) in entries.enumerated() {
      let neighbours = entry.waiters + entry.upstream
      guard let wrong = neighbours.first(where: { !entries.indices.contains($0) }) else { continue }
      throw DecodingError.dataCorruptedError(
        forKey: .entries, in: container,
        debugDescription: "Future \(position) refers to future \(wrong), but there are \(entries.count).")
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(entries, forKey: .entries)
  }
}

/// Encoded as `{"kind": "failed", "error": "…"}`, `{"kind": "cancelled", "reason": {…}}`, or an object with only a kind.
extension TreeSnapshot.State: Codable {
  private enum CodingKeys: String, CodingKey {
    case kind, error, reason
  }

  private enum Kind: String, Codable {
    case pending, queued, running, succeeded, failed, cancelled
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    switch try container.decode(Kind.self, forKey: .kind) {
    case .pending: self = .pending
    case .queued: self = .queued
    case .running: self = .running
    case .succeeded: self = .succeeded
    case .failed: self = .failed(try container.decode(String.self, forKey: .error))
    case .cancelled: self = .cancelled(try container.decode(CancellationReason.self, forKey: .reason))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .pending: try container.encode(Kind.pending, forKey: .kind)
    case .queued: try container.encode(Kind.queued, forKey: .kind)
    case .running: try container.encode(Kind.running, forKey: .kind)
    case .succeeded: try container.encode(Kind.succeeded, forKey: .kind)
    case .failed(let error):
      try container.encode(Kind.failed, forKey: .kind)
      try container.encode(error, forKey: .error)
    case .cancelled(let reason):
      try container.encode(Kind.cancelled, forKey: .kind)
      try container.encode(reason, forKey: .reason)
    }
  }
}
