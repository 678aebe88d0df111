import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeTesting
import HTTPTestSupport

/// A directory for caches. Its files are read and written when the test runs the executor.
struct StoredCache {
  let clock = ManualClock()
  let executor = ManualExecutor()
  let faults = Locked<[HTTPError]>([])
  private let folder = try! Folder()

  var directory: URL { folder.file("cache") }
  var responses: URL { directory.appendingPathComponent("responses") }

  /// The codes of the faults since the last call.
  func takeFaults() -> [HTTPError.Code] { faults.withLock { faults in faults.take() }.map(\.code) }

  /// Opens a cache for the directory, which must not be in use.
  func open(_ limits: HTTPCache.Limits = HTTPCache.Limits(), random: RandomSource = .system) throws -> CachedAPI {
    let cache = try HTTPCache(
      directory: directory, limits: limits, date: clock.wallClock(), on: executor.executor, random: random
    ) { [faults] fault in faults.withLock { $0.append(fault) } }
    return CachedAPI(cache, clock)
  }

  /// Stores a response with a new cache, and closes it.
  func store(_ body: String, at path: String = "/", _ fields: [(String, String)] = [], seconds: Int = 60) throws {
    let api = try open()
    api.answer(body, [("Cache-Control", "max-age=\(seconds)"), ("ETag", "\"\(body)\"")])
    api.load(path, fields)
    executor.runAll()
  }

  /// Loads with a cache, and with its files.
  func load(
    _ api: CachedAPI, _ path: String = "/", _ fields: [(String, String)] = [], method: HTTPMethod = .get,
    caching option: RequestCaching = .standard
  ) -> HTTPResponse? {
    let future = api.start(path, fields, method: method, caching: option)
    executor.runAll()
    return future.outcomeIfCompleted.flatMap { try? $0.get() }
  }

  /// Loads with a new cache, whose server answers with the body `new`.
  func reload(_ path: String = "/", _ fields: [(String, String)] = []) throws -> String {
    let api = try open()
    api.answer("new", [("Cache-Control", "max-age=60")])
    return load(api, path, fields).summary
  }

  /// The files of responses, in the order of their names.
  var files: [URL] {
    get throws {
      try FileManager.default.contentsOfDirectory(at: responses, includingPropertiesForKeys: nil)
        .filter { $0.lastPathComponent != "key" }.sorted { $0.path < $1.path }
    }
  }

  /// All files and directories, with paths that begin in the directory.
  var names: [String] { (try? FileManager.default.subpathsOfDirectory(atPath: directory.path).sorted()) ?? [] }

  /// Replaces a file, whose permissions are set explicitly.
  func put(_ data: Data, at file: URL) throws {
    try data.write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
  }
}

extension Array {
  fileprivate mutating func take() -> [Element] {
    defer { removeAll() }
    return self
  }
}
