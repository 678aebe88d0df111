import FutureTreeHTTP

/// The items of a query, not decoded.
package struct QueryItems: Equatable {
  package let fields: [HTTPArchive.Field]

  /// - Parameter url: A URL with or without a query.
  package init(_ url: String) {
    guard let start = url.firstIndex(of: "?") else {
      fields = []
      return
    }
    fields = url[start...].dropFirst().prefix { $0 != "#" }.split(separator: "&").map { item in
      let name = item.prefix { $0 != "=" }
      return HTTPArchive.Field(name: String(name), value: String(item.dropFirst(name.count + 1)))
    }
  }
}
