import FutureTreeHTTP

/// The fields of a query, or of a body of the type `application/x-www-form-urlencoded`.
enum FormFields {
  /// Returns the decoded fields, or `nil` if a name occurs twice.
  static func parsed(_ text: some StringProtocol) -> [String: String]? {
    var fields: [String: String] = [:]
    for item in text.split(separator: "&") {
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { part in
        let spaced = String(decoding: part.utf8.map { $0 == 0x2B ? 0x20 : $0 }, as: UTF8.self)
        return String(decoding: ASCII.percentDecoded(spaced), as: UTF8.self)
      }
      guard fields.updateValue(parts.count > 1 ? parts[1] : "", forKey: parts[0]) == nil else { return nil }
    }
    return fields
  }
}
