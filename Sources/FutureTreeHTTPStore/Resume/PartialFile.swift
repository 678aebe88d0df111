import Foundation
import FutureTreeHTTP

/// The first bytes of a body in a directory, which a later load can continue. Exclusively locked until it is closed.
///
/// `<digest of the URL>.partial` has the bytes, and `<digest>.json` the record of the representation that they belong to.
///
/// # Invariants
/// 1. The record is written while the file is empty. It never describes the bytes of another representation.
/// 2. Only the owner of the lock changes the two files.
/// 3. The locked file has the name: another load did not rename it before it was locked.
final class PartialFile {
  private struct Record: Codable {
    let validator: String
    let origin: String?
    let length: Int?
  }

  private let record: URL
  private let file: BodyFile

  /// Opens the file for a request. Creates it if it is missing.
  ///
  /// - Returns: `nil` if another load has locked the file, or if the volume has no locks.
  /// - Throws: `HTTPError` with the code `unwritableBody`.
  init?(of request: HTTPRequest, in directory: URL, for destination: URL) throws(HTTPError) {
    let digest = sha256(of: (request.url?.absoluteString ?? "").utf8)
    let name = directory.appendingPathComponent(ASCII.hexadecimal(digest).lowercased())
    try PartialFile.create(directory)
    guard let descriptor = try PartialFile.lock(name.partial) else { return nil }
    record = name.record
    let size = lseek(descriptor, 0, SEEK_END)
    file = BodyFile(descriptor, temporary: name.partial.path, for: destination, size: Int(size))
  }

  /// The number of bytes.
  var size: Int { file.size }

  /// Returns the state of a body that continues this file, and removes the last byte of the file. `nil` if it cannot be
  /// continued.
  ///
  /// The last byte is requested again. Otherwise the response for a complete file would be an error (416), without the
  /// fields of the representation.
  func makeState() throws(HTTPError) -> ResumeState? {
    guard size > 1, let data = try? Data(contentsOf: record),
      let record = try? JSONDecoder().decode(Record.self, from: data), size <= record.length ?? size
    else { return nil }
    try file.truncate(to: size - 1)
    return ResumeState(validator: record.validator, origin: record.origin, total: record.length, position: size)
  }

  /// Removes the bytes. Those that follow belong to the body of another response.
  func restart(_ state: ResumeState) throws(HTTPError) {
    unlink(record.path)
    try file.truncate(to: 0)
    guard let validator = state.validator else { return }
    let new = Record(validator: validator, origin: state.origin, length: state.total)
    try PartialFile.naming("write the record of a partial file") {
      try JSONEncoder().encode(new).write(to: record, options: .atomic)
    }
  }

  func append(_ bytes: Data) throws(HTTPError) { try file.append(bytes) }

  /// Moves the file to its destination.
  func commit() throws(HTTPError) {
    unlink(record.path)
    try file.commit()
  }

  /// Closes the file, and keeps it for a later load.
  func keep() {
    guard size > 0, FileManager.default.fileExists(atPath: record.path) else { return discard() }
    file.closeDescriptor()
  }

  /// Removes the file. Has no effect after `commit` or `keep`.
  func discard() {
    unlink(record.path)
    file.discard()
  }
}

// MARK: - Directories and locks

extension PartialFile {
  /// Removes the files in a directory that no load has locked.
  ///
  /// - Throws: `HTTPError` with the code `unwritableBody` if the file system refuses it.
  static func removeAll(in directory: URL) throws(HTTPError) {
    guard FileManager.default.fileExists(atPath: directory.path) else { return }
    let files = try naming("read the directory of partial files") {
      try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
    }
    for name in Set(files.filter { ["partial", "json"].contains($0.pathExtension) }.map { $0.deletingPathExtension() })
    {
      guard let descriptor = try lock(name.partial) else { continue }
      defer { close(descriptor) }
      unlink(name.record.path)
      guard unlink(name.partial.path) == 0 else { throw BodyFile.refused("cannot be removed", errno) }
    }
  }

  private static func create(_ directory: URL) throws(HTTPError) {
    guard directory.isFileURL else {
      throw HTTPError(
        .unwritableBody, "The directory of partial files has a URL that is not a file URL. Use a file URL.")
    }
    try naming("create the directory of partial files") {
      try FileManager.default.createDirectory(
        at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
  }

  /// The message does not contain the path, which may be a secret.
  private static func naming<Value>(_ work: String, _ body: () throws -> Value) throws(HTTPError) -> Value {
    do { return try body() } catch {
      throw HTTPError(
        .unwritableBody, "The loader cannot \(work). Check the directory and the free space.", underlying: error)
    }
  }

  /// Opens and locks a file. Returns its descriptor, or `nil` if the lock is not available.
  private static func lock(_ file: URL) throws(HTTPError) -> Int32? {
    while true {
      let descriptor = open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
      guard descriptor >= 0 else { throw BodyFile.refused("cannot be created", errno) }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        close(descriptor)
        return nil
      }
      if BodyFile.isNamed(descriptor, file) { return descriptor }
      close(descriptor)  // Another load has renamed or removed the file in between.
    }
  }
}

extension URL {
  fileprivate var partial: URL { appendingPathExtension("partial") }
  fileprivate var record: URL { appendingPathExtension("json") }
}
