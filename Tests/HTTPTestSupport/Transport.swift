import Foundation
import FutureTree
import FutureTreeHTTP

extension Outcome<HTTPResponse> {
  /// The code of the error, or `nil` for any other outcome.
  package var code: HTTPError.Code? {
    if case .failure(let error as HTTPError) = self { error.code } else { nil }
  }
}

/// A folder for one test, deleted with this object.
package final class Folder: Sendable {
  package let url: URL

  package init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("FutureTree-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  package func file(_ name: String) -> URL { url.appendingPathComponent(name) }

  package func write(_ text: String, to name: String) throws -> URL {
    try Data(text.utf8).write(to: file(name))
    return file(name)
  }

  package func text(of name: String) -> String? {
    (try? Data(contentsOf: file(name))).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The names of all files in the folder, including hidden files.
  package var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted() }

  deinit {
    try? FileManager.default.removeItem(at: url)
  }
}
