/// A setting that travels with a request, for the loader or the layer that understands it.
///
/// ```swift
/// enum Priority: HTTPRequestOption {
///   static var defaultValue: Int { 0 }
/// }
/// request[option: Priority.self] = 10
/// ```
public protocol HTTPRequestOption {
  /// What the option is set to.
  associatedtype Value: Sendable

  /// What holds where a request says nothing.
  static var defaultValue: Value { get }
}

/// The options that one request sets.
struct HTTPRequestOptions: Sendable {
  private var values: [ObjectIdentifier: any Sendable] = [:]

  subscript<Option: HTTPRequestOption>(option: Option.Type) -> Option.Value {
    get {
      // A cast of nothing would take longer than all else.
      guard let value = values[ObjectIdentifier(option)] else { return Option.defaultValue }
      return value as? Option.Value ?? Option.defaultValue
    }
    set { values[ObjectIdentifier(option)] = newValue }
  }

  /// The values that were set, to be compared, without those of some options. nil if one of them cannot be compared.
  func comparable(without ignored: Set<ObjectIdentifier>) -> [ObjectIdentifier: AnyHashable]? {
    var comparable: [ObjectIdentifier: AnyHashable] = [:]
    for (option, value) in values where !ignored.contains(option) {
      if let value = value as? any Hashable {
        comparable[option] = AnyHashable(value)
      } else if let value = value as? any PerhapsNothing, value.isNothing {
        comparable[option] = AnyHashable(Nothing())
      } else {
        return nil
      }
    }
    return comparable
  }

  /// Stands for nil of a type that cannot be compared.
  private struct Nothing: Hashable {}
}

private protocol PerhapsNothing {
  var isNothing: Bool { get }
}

extension Optional: PerhapsNothing {
  fileprivate var isNothing: Bool {
    if case nil = self { true } else { false }
  }
}
