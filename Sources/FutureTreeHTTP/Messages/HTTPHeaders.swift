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
/// Headers are equal if each name has the same values in the same order; the order of different names does not matter.
public struct HTTPHeaders: Sendable {
  /// One header field. Fields are equal if their values are, and their names without case.
  public struct Field: Sendable {
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
        && self.name.utf8.elementsEqual(name.utf8) { ASCII.lowercased($0) == ASCII.lowercased($1) }
    }
  }

  private var fields: [Field] = []

  /// Creates headers without fields.
  public init() {}

  /// Headers of names and values, in order.
  ///
  /// ```swift
  /// let headers = try HTTPHeaders([("Accept", "text/html"), ("Accept", "text/plain")])
  /// ```
  ///
  /// - Throws: `HTTPError` with the code `invalidHeaderName` or `invalidHeaderValue`.
  public init(_ fields: [(String, String)]) throws(HTTPError) {
    for (name, value) in fields { try add(name, value) }
  }

  /// Headers of fields, in order.
  public init(_ fields: some Sequence<Field>) {
    self.fields = Array(fields)
  }

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

  /// Whether there is a field with the name.
  public func contains(_ name: String) -> Bool {
    fields.contains { $0.isNamed(name) }
  }

  /// All values for the name as one, joined with commas (RFC 9110, section 5.3); nil if there is none.
  ///
  /// It is nil for `Set-Cookie`, whose values have commas of their own: use `values(for:)`.
  public func joined(_ name: String) -> String? {
    let values = values(for: name)
    return values.isEmpty || HTTPHeaders.isSetCookie(name) ? nil : values.joined(separator: ", ")
  }

  /// The elements of a header that is a list, such as `Vary`, over all its fields (RFC 9110, section 5.6.1).
  ///
  /// ```swift
  /// // Cache-Control: max-age=60, ext="a,b"
  /// headers.elements(of: "Cache-Control")  // ["max-age=60", "ext=\"a,b\""]
  /// ```
  ///
  /// Empty elements are left out. The values of `Set-Cookie` are no lists: each of them is one element.
  public func elements(of name: String) -> [String] {
    let values = values(for: name)
    if HTTPHeaders.isSetCookie(name) { return values.filter { !$0.isEmpty } }
    return values.flatMap { FieldSyntax.elements(of: $0) }
  }

  /// Adds a field after those that are there.
  public mutating func add(_ field: Field) {
    fields.append(field)
  }

  /// Adds fields after those that are there, in order.
  public mutating func add(contentsOf other: some Sequence<Field>) {
    fields.append(contentsOf: other)
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
    guard let position = fields.firstIndex(where: { $0.isNamed(name) }) else { return fields.append(field) }
    fields.removeAll { $0.isNamed(name) }
    fields.insert(field, at: position)
  }

  /// Removes every field with this name.
  ///
  /// - Returns: their values, in order.
  @discardableResult
  public mutating func remove(_ name: String) -> [String] {
    let values = values(for: name)
    fields.removeAll { $0.isNamed(name) }
    return values
  }

  /// Removes every field that answers to a condition.
  public mutating func removeAll(where isRemoved: (Field) throws -> Bool) rethrows {
    try fields.removeAll(where: isRemoved)
  }

  private static func isSetCookie(_ name: String) -> Bool { name.lowercased() == "set-cookie" }
}

extension HTTPHeaders: RandomAccessCollection {
  public var startIndex: Int { fields.startIndex }
  public var endIndex: Int { fields.endIndex }
  public subscript(position: Int) -> Field { fields[position] }
}

extension HTTPHeaders: Hashable {
  public static func == (first: HTTPHeaders, second: HTTPHeaders) -> Bool {
    first.count == second.count && first.valuesByName == second.valuesByName
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(valuesByName)
  }

  private var valuesByName: [String: [String]] {
    Dictionary(grouping: fields) { $0.name.lowercased() }.mapValues { $0.map(\.value) }
  }
}

extension HTTPHeaders.Field: Hashable {
  public static func == (first: HTTPHeaders.Field, second: HTTPHeaders.Field) -> Bool {
    first.isNamed(second.name) && first.value == second.value
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(name.lowercased())
    hasher.combine(value)
  }
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
