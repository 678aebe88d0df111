/// The printable position of a value inside a coded value: `users[2].name`. It contains keys and indexes, never values.
/// The keys of a dictionary are data from the server, so they are printed as `[…]`.
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

  /// Returns whether the key belongs to a dictionary. The standard library has a separate type for such keys.
  private static func isOfDictionary(_ key: any CodingKey) -> Bool {
    String(describing: type(of: key)).contains("DictionaryCodingKey")
  }

  /// Returns the key, in quotes if it is not a plain word.
  private static func visible(_ key: String) -> String {
    let isPlain = key.utf8.allSatisfy { $0 == 0x5F || $0 == 0x2D || ASCII.isLetter($0) || ASCII.isDigit($0) }
    return isPlain && !key.isEmpty && key.utf8.count <= 60 ? key : FieldSyntax.visible(key)
  }
}
