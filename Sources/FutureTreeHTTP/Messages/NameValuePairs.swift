/// Names and values in order, written as a dictionary or as a list of pairs.
///
/// ```swift
/// api.get("posts", query: ["page": "2", "tag": "swift", "tag": "server"], as: [Post].self)
///
/// var query: NameValuePairs<String?> = ["page": "2"]
/// query.append(("draft", nil))
/// ```
///
/// A literal keeps its order, and a name can occur several times. Use `init(_:)` for a dictionary or an array that is not a
/// literal.
public struct NameValuePairs<Value: Sendable>: Sendable, RandomAccessCollection, RangeReplaceableCollection {
  private var pairs: [(String, Value)] = []

  /// Creates an empty list.
  public init() {}

  /// Creates a list of the entries of a dictionary, sorted by their names: the order of a dictionary is random.
  public init(_ dictionary: [String: Value]) {
    pairs = dictionary.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  public var startIndex: Int { pairs.startIndex }
  public var endIndex: Int { pairs.endIndex }
  public subscript(position: Int) -> (String, Value) { pairs[position] }

  public mutating func replaceSubrange(_ range: Range<Int>, with pairs: some Collection<(String, Value)>) {
    self.pairs.replaceSubrange(range, with: pairs)
  }
}

extension NameValuePairs: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
  /// Creates a list from a literal: `[("page", "2")]`.
  public init(arrayLiteral pairs: (String, Value)...) {
    self.pairs = pairs
  }

  /// Creates a list from a literal: `["page": "2"]`. It keeps the order, and names that occur several times.
  public init(dictionaryLiteral pairs: (String, Value)...) {
    self.pairs = pairs
  }
}
