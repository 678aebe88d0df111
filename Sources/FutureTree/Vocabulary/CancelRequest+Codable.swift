// The encoding of requests in stored trees and logs. The field names are stable.
// A request is encoded as `{"options": ["forceImmediately"], "reason": {…}}`.

/// Encoded as `{"message": "the tab was closed", "fileID": "App/Tab.swift", "line": 7}`.
extension CancellationReason: Codable {
  private enum CodingKeys: String, CodingKey {
    case message, fileID, line
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      try container.decode(String.self, forKey: .message), fileID: try container.decode(String.self, forKey: .fileID),
      line: try container.decode(UInt.self, forKey: .line))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(message, forKey: .message)
    try container.encode(fileID, forKey: .fileID)
    try container.encode(line, forKey: .line)
  }
}

/// Encoded as an array of option names, in the order of their declaration.
extension CancellationOptions: Codable {
  public init(from decoder: any Decoder) throws {
    var container = try decoder.unkeyedContainer()
    var options: CancellationOptions = []
    while !container.isAtEnd {
      let name = try container.decode(String.self)
      guard let option = CancellationOptions.names.first(where: { $0.name == name })?.option else {
        throw DecodingError.dataCorruptedError(
          in: container,
          debugDescription: "The option `\(name)` does not exist. The options are "
            + CancellationOptions.names.map(\.name).joined(separator: ", ") + ".")
      }
      options.insert(option)
    }
    self = options
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    for (option, name) in CancellationOptions.names where contains(option) { try container.encode(name) }
  }
}

extension CancelRequest: Codable {
  private enum CodingKeys: String, CodingKey {
    case options, reason
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      options: try container.decode(CancellationOptions.self, forKey: .options),
      reason: try container.decode(CancellationReason.self, forKey: .reason))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(options, forKey: .options)
    try container.encode(reason, forKey: .reason)
  }
}
