/// A setting that travels with a request, for the loader or the layer that understands it.
///
/// ```swift
/// enum Priority: HTTPRequestOption {
///   static var defaultValue: Int { 0 }
/// }
/// request[option: Priority.self] = 10
/// ```
public protocol HTTPRequestOption {
  associatedtype Value: Sendable

  /// What holds where a request says nothing.
  static var defaultValue: Value { get }
}

/// The options that one request sets.
struct HTTPRequestOptions: Sendable {
  private var values: [ObjectIdentifier: any Sendable] = [:]

  subscript<Option: HTTPRequestOption>(option: Option.Type) -> Option.Value {
    get { values[ObjectIdentifier(option)] as? Option.Value ?? Option.defaultValue }
    set { values[ObjectIdentifier(option)] = newValue }
  }
}
