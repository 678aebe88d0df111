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

/// The options that one request sets. They are few, so searching an array is faster than searching a dictionary.
struct HTTPRequestOptions: Sendable {
  private var values: [SetValue] = []

  subscript<Option: HTTPRequestOption>(option: Option.Type) -> Option.Value {
    get {
      guard let value = values.first(where: { $0.option == ObjectIdentifier(option) }) else {
        return Option.defaultValue
      }
      // The option determines the type of its value. A checked cast would take longer than the rest of this getter.
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

  /// The values that were set, to be compared, without those of some options. nil if one of them cannot be compared.
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

  /// A value of any type, with the option that it is set for.
  private class SetValue: @unchecked Sendable {  // Because: its properties are constants of sendable types.
    let option: ObjectIdentifier
    var any: Any { preconditionFailure("\(#function): a value without a type") }

    init(_ option: ObjectIdentifier) {
      self.option = option
    }
  }

  private final class TypedValue<Value: Sendable>: SetValue, @unchecked Sendable {  // Because: as `SetValue`.
    let value: Value
    override var any: Any { value }

    init(_ option: ObjectIdentifier, _ value: Value) {
      self.value = value
      super.init(option)
    }
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
