import Foundation

/// The files and names of the directory of a cache. Locks the directory while it exists.
final class CacheFolder: Sendable {
  private let directory: URL
  private let maximumFileSize: Int
  private let random: RandomSource
  private let lock: PrivateFile.Lock

  private var responses: URL { directory.appendingPathComponent("responses") }

  init(_ directory: URL, maximumFileSize: Int, _ random: RandomSource) throws(HTTPError) {
    guard directory.isFileURL else {
      throw HTTPError(.storeFailed, "The directory of the cache has a URL that is not a file URL. Use a file URL.")
    }
    let file = PrivateFile(
      directory.appendingPathComponent("lock"), name: "lock of the cache", code: .storeFailed, random: random)
    guard let lock = try file.lock() else {
      throw HTTPError(
        .storeFailed,
        "The directory of the cache is in use by another cache. Use one directory for each cache and each process.")
    }
    self.directory = directory
    self.maximumFileSize = maximumFileSize
    self.random = random
    self.lock = lock
  }

  func response(_ name: String) -> PrivateFile {
    PrivateFile(
      responses.appendingPathComponent(name), name: "file of the cache", code: .storeFailed,
      maximumSize: maximumFileSize, random: random)
  }

  /// Counts a response as used, for a later process.
  func use(_ name: String) {
    utimes(responses.appendingPathComponent(name).path, nil)
  }
}

// MARK: - The key

extension CacheFolder {
  private static let keySize = 32

  func makeKey() -> [UInt8] { random.bytes(CacheFolder.keySize) }

  /// Whether there is a file of the key.
  var hasKey: Bool { access(responses.appendingPathComponent("key").path, F_OK) == 0 }

  func writeKey(_ key: [UInt8]) throws(HTTPError) { try response("key").write(Data(key)) }

  /// Returns the key of the names, or `nil` if there are no usable responses.
  private func readKey(_ onFault: (HTTPError) -> Void) throws(HTTPError) -> [UInt8]? {
    let key = try response("key").read()
    if let key, key.count == CacheFolder.keySize { return [UInt8](key) }
    if key != nil {
      onFault(HTTPError(.storeFailed, "The key of the cache is damaged. The stored responses are removed."))
    }
    try removeAll()
    return nil
  }
}

// MARK: - All files

extension CacheFolder {
  struct File {
    let name: String
    let size: Int
    let lastUse: Double
  }

  /// Returns the key of the names, and the responses in the order of their last use. Removes what a crash left.
  func open(_ onFault: (HTTPError) -> Void) throws(HTTPError) -> (key: [UInt8]?, files: [File]) {
    try removeRenamed()
    guard let key = try readKey(onFault) else { return (nil, []) }
    var files: [File] = []
    for name in CacheFolder.contents(of: responses) {
      let path = responses.appendingPathComponent(name).path
      var status = stat()
      if name.hasPrefix(".") {
        unlink(path)
      } else if CacheFile.isName(name), lstat(path, &status) == 0 {
        files.append(File(name: name, size: Int(status.st_size), lastUse: status.changed))
      }
    }
    return (key, files.sorted { $0.lastUse < $1.lastUse })
  }

  /// Removes all responses. One call gives their directory another name, so that a crash leaves all or none.
  func removeAll() throws(HTTPError) {
    let number = ASCII.hexadecimal(random.bytes(8))
    guard rename(responses.path, directory.appendingPathComponent("removed-\(number)").path) == 0 else {
      if errno == ENOENT { return }
      throw response("").failed("cannot be removed", errno)
    }
    try removeRenamed()
  }

  private func removeRenamed() throws(HTTPError) {
    for name in CacheFolder.contents(of: directory) where name.hasPrefix("removed-") {
      do { try FileManager.default.removeItem(at: directory.appendingPathComponent(name)) } catch {
        throw response("").failed("cannot be removed")
      }
    }
  }

  private static func contents(of directory: URL) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
  }
}

extension stat {
  /// The time of the last change, in seconds.
  fileprivate var changed: Double {
    #if canImport(Darwin)
      let time = st_mtimespec
    #else
      let time = st_mtim
    #endif
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
