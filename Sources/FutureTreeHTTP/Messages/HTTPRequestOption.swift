/// A setting that a request carries for a loader or a layer.
///
/// ```swift
/// enum Priority: HTTPRequestOption {
///   static var defaultValue: Int { 0 }
/// }
/// request[option: Priority.self] = 10
/// ```
///
/// Requests with different values do not share a load of ``Coalesce``. A request that sets an option with a value that is not
/// `Hashable` shares none. This does not apply to options that the layer ignores.
public protocol HTTPRequestOption {
  /// The type of the setting.
  associatedtype Value: Sendable

  /// The value for requests that do not set the option.
  static var defaultValue: Value { get }
}

/// The options that a request sets. They are few, so that searching an array is faster than searching a dictionary.
struct HTTPRequestOptions: Sendable {
  private var values: [SetValue] = []

  func contains<Option: HTTPRequestOption>(_ option: Option.Type) -> Bool {
    values.contains { $0.option == ObjectIdentifier(option) }
  }

  subscript<Option: HTTPRequestOption>(option: Option.Type) -> Option.Value {
    get {
      guard let value = values.first(where: { $0.option == ObjectIdentifier(option) }) else {
        return Option.defaultValue
      }
      // The option determines the type of its value. A checked cast would take longer than the rest of the lookup.
      return unsafeDowncast(value, to: TypedValue<Option.Value>.self).value
    }
    set {
      let value = TypedValue(ObjectIdentifier(option), newValue)
      if let index = values.firstIndex(where: { $0.option == value.option }) {
        values[index] = value
      } else {
        values.append(value)
      }
    }
  }

  /// Replaces the values of some options with those of other options.
  mutating func take(_ options: Set<ObjectIdentifier>, from other: HTTPRequestOptions) {
    values.removeAll { options.contains($0.option) }
    values += other.values.filter { options.contains($0.option) }
  }

  /// Returns the values that are set, except those of `ignored`, in a comparable form. Returns `nil` if one of them is
  /// not comparable.
  func comparable(without ignored: Set<ObjectIdentifier>) -> [ObjectIdentifier: AnyHashable]? {
    var comparable: [ObjectIdentifier: AnyHashable] = [:]
    for entry in values where !ignored.contains(entry.option) {
      if let value = entry.any as? any Hashable {
        comparable[entry.option] = AnyHashable(value)
      } else if let value = entry.any as? any PerhapsNothing, value.isNothing {
        comparable[entry.option] = AnyHashable(Nothing())
      } else {
        return nil
      }
    }
    return comparable
  }

  /// A value of any type, with the option it belongs to.
  private class SetValue: @unchecked Sendable {  // Because: all its properties are constants of sendable types.
    let option: ObjectIdentifier
    var any: Any { preconditionFailure("\(#function): a value without a type") }

    init(_ option: ObjectIdentifier) {
      self.option = option
    }
  }

  private final class TypedValue<Value: Sendable>: SetValue, @unchecked Sendable {  // Because: as in `SetValue`.
    let value: Value
    override var any: Any { value }

    init(_ option: ObjectIdentifier, _ value: Value) {
      self.value = value
      super.init(option)
    }
  }

  /// A replacement for `nil` of a type that is not comparable.
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
