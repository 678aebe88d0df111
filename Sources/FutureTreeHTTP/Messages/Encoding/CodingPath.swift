/// Where in a coded value something is, as it is printed: `users[2].name`. It has keys and positions, and no values: the
/// keys of a dictionary, which are values of the other side, are `[…]`.
struct CodingPath: CustomStringConvertible {
  let keys: [any CodingKey]

  var description: String {
    guard !keys.isEmpty else { return "its top level" }
    var text = ""
    for key in keys {
      if let index = key.intValue {
        text += "[\(index)]"
      } else if CodingPath.isOfDictionary(key) {
        text += "[…]"
      } else {
        text += (text.isEmpty ? "" : ".") + CodingPath.visible(key.stringValue)
      }
    }
    return text
  }

  /// The standard library has a type of its own for the keys of dictionaries.
  private static func isOfDictionary(_ key: any CodingKey) -> Bool {
    String(describing: type(of: key)).contains("DictionaryCodingKey")
  }

  /// The key, in quotes if it is no plain word.
  private static func visible(_ key: String) -> String {
    let isPlain = key.utf8.allSatisfy { $0 == 0x5F || $0 == 0x2D || ASCII.isLetter($0) || ASCII.isDigit($0) }
    return isPlain && !key.isEmpty && key.utf8.count <= 60 ? key : FieldSyntax.visible(key)
  }
}
