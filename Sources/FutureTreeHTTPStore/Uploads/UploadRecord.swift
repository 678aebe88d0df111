import Foundation
import FutureTree
import FutureTreeHTTP

/// The record of an upload in a directory, with which a later load continues it. Exclusively locked until it is closed.
///
/// `<digest>.upload` has the URL of the upload and the version of the file, sealed by `Data.sealed(as:name:)`. A record that was cut
/// is ignored, so it is not synchronized to disk.
///
/// # Invariants
/// 1. Only the owner of the lock changes the file.
/// 2. A closed record writes nothing and removes nothing, because another load can own the file.
/// 3. A file without an upload is removed when it is closed.
final class UploadRecord: Sendable {
  private struct Content: Codable {
    let upload: String
    let version: FileVersion
  }

  private struct Guarded {
    /// `nil` if the record is closed.
    var lock: PrivateFile.Lock?
    var upload: HTTPURL?
  }

  private static let format = "FutureTree upload 1"

  /// The upload of an earlier load. `nil` if there is none, or if the file has changed since.
  let earlier: HTTPURL?
  /// The digest of the upload. A record that was renamed is ignored.
  private let name: String
  private let file: PrivateFile
  private let version: FileVersion
  private let guarded: Locked<Guarded>

  /// Opens the record. Creates it if it is missing.
  ///
  /// - Parameter key: The text that identifies the upload. The record has only its digest.
  /// - Returns: `nil` if another load has locked the record, or if the volume has no locks.
  /// - Throws: `HTTPError` with the code `storeFailed`.
  init?(of key: String, _ version: FileVersion, in directory: URL) throws(HTTPError) {
    let digest = ASCII.hexadecimal(sha256(of: key.utf8)).lowercased()
    file = UploadRecord.file(directory.appendingPathComponent(digest).appendingPathExtension("upload"))
    guard let lock = try file.lock(needsLocks: false) else { return nil }
    let content = (try? FileHandle(fileDescriptor: lock.descriptor, closeOnDealloc: false).readToEnd())
      .flatMap { $0.unsealed(as: UploadRecord.format, name: digest) }
      .flatMap { try? JSONDecoder().decode(Content.self, from: $0) }
    earlier = content.flatMap { $0.version == version ? try? HTTPURL($0.upload) : nil }
    name = digest
    self.version = version
    guarded = Locked(Guarded(lock: lock, upload: earlier))
  }

  deinit { close() }

  private static func file(_ url: URL) -> PrivateFile {
    PrivateFile(url, name: "record of an upload", code: .storeFailed)
  }

  /// Replaces the URL of the upload. If the disk refuses it, the record is empty, and a later load begins again.
  func write(_ upload: HTTPURL?) {
    guarded.withLock { guarded in
      guard let descriptor = guarded.lock?.descriptor, upload != guarded.upload else { return }
      guarded.upload = upload
      guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0, let upload,
        let content = try? JSONEncoder().encode(Content(upload: upload.absoluteString, version: version))
      else { return }
      try? FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        .write(contentsOf: content.sealed(as: UploadRecord.format, name: name))
    }
  }

  /// Releases the lock, and keeps the record for a later load.
  func close() {
    guarded.release { guarded in
      if guarded.lock != nil, guarded.upload == nil { try? file.unlinkFile() }
      return guarded.lock.take()
    }
  }

  /// Removes the record, because no later load continues the upload.
  func remove() {
    write(nil)
    close()
  }

  /// Removes the records in a directory that no load has locked.
  ///
  /// - Throws: `HTTPError` with the code `storeFailed` if the file system refuses it.
  static func removeAll(in directory: URL) throws(HTTPError) {
    guard FileManager.default.fileExists(atPath: directory.path) else { return }
    let files: [URL]
    do {
      files = try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
    } catch {
      throw file(directory).failed("has a directory that cannot be read")
    }
    for url in files where url.pathExtension == "upload" {
      let file = file(url)
      guard let lock = try file.lock(needsLocks: false) else { continue }
      try withExtendedLifetime(lock) { () throws(HTTPError) in try file.unlinkFile() }
    }
  }
}
