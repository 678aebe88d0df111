/// The header fields of a message, in order (RFC 9110, section 5). Names compare case-insensitively, and a name can have
/// several values.
///
/// ```swift
/// var headers = HTTPHeaders()
/// try headers.add("Accept", "application/json")
/// headers["accept"]              // "application/json"
/// headers.values(for: "Accept")  // all of them, in order
/// ```
///
/// Names keep their spelling. Invalid names and values are refused when they are added, so headers are always valid.
/// Headers are equal if each name has the same values in the same order. The order of fields with different names does
/// not matter.
///
/// **Values beyond ASCII.** A program can add only values of visible ASCII, spaces and tabs. A value that a server sent can also
/// have characters beyond ASCII (RFC 9110, section 5.5). It is read as UTF-8, and as ISO-8859-1 if its bytes are not UTF-8
/// (`URLSession` on Linux cannot read the latter). Values are compared by their bytes in UTF-8.
public struct HTTPHeaders: Sendable {
  /// One header field. Fields are equal if their values are equal and their names differ at most in case.
  public struct Field: Sendable {
    /// The name, with its original spelling.
    public let name: String
    /// The value.
    public let value: String

    /// Creates a field.
    ///
    /// - Throws: `HTTPError` with the code `invalidHeaderName` or `invalidHeaderValue`. Its message names the position of
    ///   the fault.
    public init(_ name: String, _ value: String) throws(HTTPError) {
      try self.init(name, value, isReceived: false)
    }

    /// Creates a field of a response, or a field that sends a value back to the server that sent it. The value can have
    /// characters beyond ASCII.
    package init(received name: String, _ value: String) throws(HTTPError) {
      try self.init(name, value, isReceived: true)
    }

    private init(_ name: String, _ value: String, isReceived: Bool) throws(HTTPError) {
      if let fault = FieldSyntax.fault(inToken: name) {
        throw HTTPError(.invalidHeaderName, "The header name \(FieldSyntax.visible(name)) \(fault). Use a token.")
      }
      if let fault = FieldSyntax.fault(inValue: value, isReceived: isReceived) {
        throw HTTPError(
          .invalidHeaderValue,
          "The value of the header \(name) \(fault). Encode all characters that are not visible ASCII.")
      }
      self.name = name
      self.value = value
    }

    package func isNamed(_ name: String) -> Bool {
      self.name.utf8.count == name.utf8.count
        && self.name.utf8.elementsEqual(name.utf8) { ASCII.lowercased($0) == ASCII.lowercased($1) }
    }
  }

  private var fields: [Field] = []

  /// Creates headers without fields.
  public init() {}

  /// Creates headers from names and values, in order.
  ///
  /// ```swift
  /// let headers = try HTTPHeaders(["Accept": "text/html", "Accept": "text/plain"])
  /// ```
  ///
  /// - Throws: `HTTPError` with the code `invalidHeaderName` or `invalidHeaderValue`.
  public init(_ fields: NameValuePairs<String>) throws(HTTPError) {
    for (name, value) in fields { try add(name, value) }
  }

  /// Creates headers from fields, in order.
  public init(_ fields: some Sequence<Field>) {
    self.fields = Array(fields)
  }

  /// The first value for the name, or `nil` if there is none.
  ///
  /// - Complexity: O(n) in the number of fields.
  public subscript(name: String) -> String? {
    fields.first { $0.isNamed(name) }?.value
  }

  /// Returns all values for the name, in order.
  public func values(for name: String) -> [String] {
    fields.filter { $0.isNamed(name) }.map(\.value)
  }

  /// Returns whether there is a field with the name.
  public func contains(_ name: String) -> Bool {
    fields.contains { $0.isNamed(name) }
  }

  /// Returns all values for the name as one value, joined with commas (RFC 9110, section 5.3). Returns `nil` if there is
  /// none.
  ///
  /// It returns `nil` for `Set-Cookie`, because such values contain commas: use `values(for:)`.
  public func joined(_ name: String) -> String? {
    let values = values(for: name)
    return values.isEmpty || HTTPHeaders.isSetCookie(name) ? nil : values.joined(separator: ", ")
  }

  /// Returns the elements of a header that is a list, such as `Vary`, from all its fields (RFC 9110, section 5.6.1).
  ///
  /// ```swift
  /// // Cache-Control: max-age=60, ext="a,b"
  /// headers.elements(of: "Cache-Control")  // ["max-age=60", "ext=\"a,b\""]
  /// ```
  ///
  /// Empty elements are omitted. Values of `Set-Cookie` are not lists: each value is one element.
  public func elements(of name: String) -> [String] {
    let values = values(for: name)
    if HTTPHeaders.isSetCookie(name) { return values.filter { !$0.isEmpty } }
    return values.flatMap { FieldSyntax.elements(of: $0) }
  }

  /// Appends a field.
  public mutating func add(_ field: Field) {
    fields.append(field)
  }

  /// Appends fields, in order.
  public mutating func add(contentsOf other: some Sequence<Field>) {
    fields.append(contentsOf: other)
  }

  /// Appends a field.
  ///
  /// - Throws: `HTTPError` with the code `invalidHeaderName` or `invalidHeaderValue`.
  public mutating func add(_ name: String, _ value: String) throws(HTTPError) {
    fields.append(try Field(name, value))
  }

  /// Replaces all fields that have this name with one field, at the position of the first. Appends the field if there is
  /// none.
  ///
  /// - Throws: `HTTPError` with the code `invalidHeaderName` or `invalidHeaderValue`.
  public mutating func set(_ name: String, _ value: String) throws(HTTPError) {
    set(try Field(name, value))
  }

  mutating func set(_ field: Field) {
    guard let position = fields.firstIndex(where: { $0.isNamed(field.name) }) else { return fields.append(field) }
    fields.removeAll { $0.isNamed(field.name) }
    fields.insert(field, at: position)
  }

  /// Removes all fields with this name.
  ///
  /// - Returns: The removed values, in order.
  @discardableResult
  public mutating func remove(_ name: String) -> [String] {
    let values = values(for: name)
    fields.removeAll { $0.isNamed(name) }
    return values
  }

  /// Removes all fields that match a condition.
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
    first.count == second.count && first.fieldsByName == second.fieldsByName
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(fieldsByName)
  }

  private var fieldsByName: [String: [Field]] { Dictionary(grouping: fields) { $0.name.lowercased() } }
}

extension HTTPHeaders.Field: Hashable {
  public static func == (first: HTTPHeaders.Field, second: HTTPHeaders.Field) -> Bool {
    first.isNamed(second.name) && FieldSyntax.haveSameBytes(first.value, second.value)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(name.lowercased())
    hasher.combine(value)
  }
}

extension HTTPHeaders: CustomStringConvertible, CustomReflectable {
  /// The names without the values, which may be secrets.
  public var description: String { "[" + map(\.name).joined(separator: ", ") + "]" }

  public var customMirror: Mirror { Mirror(self, unlabeledChildren: map(\.name), displayStyle: .collection) }
}

extension HTTPHeaders.Field: CustomStringConvertible, CustomReflectable {
  /// The name without the value, which may be a secret.
  public var description: String { "\(name): …" }

  public var customMirror: Mirror { Mirror(self, children: ["name": name], displayStyle: .struct) }
}
