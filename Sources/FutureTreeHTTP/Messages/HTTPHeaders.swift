/// The header fields of a message: ordered, with names that compare without case, and as many values for a name as there
/// are (RFC 9110, section 5).
///
/// ```swift
/// var headers = HTTPHeaders()
/// try headers.add("Accept", "application/json")
/// headers["accept"]              // "application/json"
/// headers.values(for: "Accept")  // all of them, in order
/// ```
///
/// Names keep the spelling they were given. An invalid name or value cannot be in here: it is refused when it is added.
public struct HTTPHeaders: Sendable {
  /// One header field.
  public struct Field: Sendable, Hashable {
    /// The name, as it was spelled.
    public let name: String
    /// The value.
    public let value: String

    /// - Throws: `HTTPError` with the code `invalidHeaderName` or `invalidHeaderValue`, which says where.
    public init(_ name: String, _ value: String) throws(HTTPError) {
      if let fault = FieldSyntax.fault(inToken: name) {
        throw HTTPError(.invalidHeaderName, "The header name \(FieldSyntax.visible(name)) \(fault). Use a token.")
      }
      if let fault = FieldSyntax.fault(inValue: value) {
        throw HTTPError(
          .invalidHeaderValue, "The value of the header \(name) \(fault). Encode what is not visible ASCII.")
      }
      self.name = name
      self.value = value
    }

    func isNamed(_ name: String) -> Bool {
      self.name.utf8.count == name.utf8.count
        && zip(self.name.utf8, name.utf8).allSatisfy { HTTPHeaders.lowercased($0) == HTTPHeaders.lowercased($1) }
    }
  }

  private var fields: [Field] = []

  /// Creates headers without fields.
  public init() {}

  /// The first value for the name, or nil if there is none.
  ///
  /// - Complexity: O(n) in the number of fields.
  public subscript(name: String) -> String? {
    fields.first { $0.isNamed(name) }?.value
  }

  /// All values for the name, in order.
  public func values(for name: String) -> [String] {
    fields.filter { $0.isNamed(name) }.map(\.value)
  }

  /// Adds a field after those that are there.
  ///
  /// - Throws: `HTTPError` with the code `invalidHeaderName` or `invalidHeaderValue`.
  public mutating func add(_ name: String, _ value: String) throws(HTTPError) {
    fields.append(try Field(name, value))
  }

  /// Puts one field in the place of all with this name: where the first of them was, or else at the end.
  ///
  /// - Throws: `HTTPError` with the code `invalidHeaderName` or `invalidHeaderValue`.
  public mutating func set(_ name: String, _ value: String) throws(HTTPError) {
    let field = try Field(name, value)
    let position = fields.firstIndex { $0.isNamed(name) }
    fields.removeAll { $0.isNamed(name) }
    fields.insert(field, at: position ?? fields.endIndex)
  }

  /// Removes every field with this name.
  public mutating func remove(_ name: String) {
    fields.removeAll { $0.isNamed(name) }
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
  }
}

extension HTTPHeaders: RandomAccessCollection {
  public var startIndex: Int { fields.startIndex }
  public var endIndex: Int { fields.endIndex }
  public subscript(position: Int) -> Field { fields[position] }
}

extension HTTPHeaders: CustomStringConvertible, CustomReflectable {
  /// The names, without the values, which may be secrets.
  public var description: String { "[" + map(\.name).joined(separator: ", ") + "]" }

  public var customMirror: Mirror { Mirror(self, unlabeledChildren: map(\.name), displayStyle: .collection) }
}

extension HTTPHeaders.Field: CustomStringConvertible, CustomReflectable {
  /// The name, without the value, which may be a secret.
  public var description: String { "\(name): …" }

  public var customMirror: Mirror { Mirror(self, children: ["name": name], displayStyle: .struct) }
}
