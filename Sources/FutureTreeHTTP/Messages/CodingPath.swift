/// Where in a coded value something is, as it is printed: `users[2].name`. It has keys and positions, and no values.
struct CodingPath: CustomStringConvertible {
  let keys: [any CodingKey]

  var description: String {
    guard !keys.isEmpty else { return "its top level" }
    var text = ""
    for key in keys {
      if let index = key.intValue {
        text += "[\(index)]"
      } else {
        text += (text.isEmpty ? "" : ".") + CodingPath.visible(key.stringValue)
      }
    }
    return text
  }

  /// The key, in quotes if it is no plain word: keys of dictionaries come from the other side.
  private static func visible(_ key: String) -> String {
    let isPlain = key.utf8.allSatisfy { $0 == 0x5F || $0 == 0x2D || ASCII.isLetter($0) || ASCII.isDigit($0) }
    return isPlain && !key.isEmpty && key.utf8.count <= 60 ? key : FieldSyntax.visible(key)
  }
}
