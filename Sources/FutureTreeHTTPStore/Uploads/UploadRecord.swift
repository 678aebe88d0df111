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
    var descriptor: Int32?
    var upload: HTTPURL?
  }

  private static let format = "FutureTree upload 1"

  /// The upload of an earlier load. `nil` if there is none, or if the file has changed since.
  let earlier: HTTPURL?
  private let file: URL
  private let version: FileVersion
  private let guarded: Locked<Guarded>

  /// Opens the record. Creates it if it is missing.
  ///
  /// - Parameter key: The text that identifies the upload. The record has only its digest.
  /// - Returns: `nil` if another load has locked the record, or if the volume has no locks.
  /// - Throws: `HTTPError` with the code `storeFailed`.
  init?(of key: String, _ version: FileVersion, in directory: URL) throws(HTTPError) {
    do {
      try FileManager.default.createDirectory(
        at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw UploadRecord.failed("cannot be created", underlying: error)
    }
    let digest = ASCII.hexadecimal(sha256(of: key.utf8)).lowercased()
    file = directory.appendingPathComponent(digest).appendingPathExtension("upload")
    guard let descriptor = try UploadRecord.lock(file) else { return nil }
    let content = (try? FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).readToEnd())
      .flatMap { $0.unsealed(as: UploadRecord.format, name: digest) }
      .flatMap { try? JSONDecoder().decode(Content.self, from: $0) }
    earlier = content.flatMap { $0.version == version ? try? HTTPURL($0.upload) : nil }
    self.version = version
    guarded = Locked(Guarded(descriptor: descriptor, upload: earlier))
  }

  deinit { close() }

  /// Replaces the URL of the upload. If the disk refuses it, the record is empty, and a later load begins again.
  func write(_ upload: HTTPURL?) {
    guarded.withLock { guarded in
      guard let descriptor = guarded.descriptor, upload != guarded.upload else { return }
      guarded.upload = upload
      guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0, let upload,
        let content = try? JSONEncoder().encode(Content(upload: upload.absoluteString, version: version))
      else { return }
      let name = file.deletingPathExtension().lastPathComponent
      try? FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        .write(contentsOf: content.sealed(as: UploadRecord.format, name: name))
    }
  }

  /// Releases the lock, and keeps the record for a later load.
  func close() {
    guarded.withLock { guarded in
      guard let descriptor = guarded.descriptor else { return }
      if guarded.upload == nil { unlink(file.path) }
      guarded.descriptor = nil
      unlockAndClose(descriptor)
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
      throw failed("cannot be read", underlying: error)
    }
    for file in files where file.pathExtension == "upload" {
      guard let descriptor = try lock(file) else { continue }
      defer { unlockAndClose(descriptor) }
      guard unlink(file.path) == 0 else { throw failed("has a record that cannot be removed", errno) }
    }
  }

  /// Opens and locks a file. Returns its descriptor, or `nil` if the lock is not available.
  private static func lock(_ file: URL) throws(HTTPError) -> Int32? {
    while true {
      let descriptor = open(file.path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
      guard descriptor >= 0 else { throw failed("has a record that cannot be opened", errno) }
      var status = stat()
      let isPrivate =
        fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid()
        && status.st_mode & 0o077 == 0
      if isPrivate, flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
        if BodyFile.isNamed(descriptor, file) { return descriptor }
        unlockAndClose(descriptor)  // Another load has removed the file in between.
        continue
      }
      unlockAndClose(descriptor)
      guard isPrivate else { throw failed("has a record that another user owns or can read") }
      return nil
    }
  }

  /// The message does not contain the path, which may be a secret.
  private static func failed(_ fault: String, _ number: Int32 = 0, underlying: (any Error)? = nil) -> HTTPError {
    let reason = number == 0 ? "" : " (\(String(cString: strerror(number))))"
    return HTTPError(
      .storeFailed,
      "The directory of the uploads \(fault)\(reason). Check its path and permissions, or use another directory.",
      underlying: underlying)
  }
}

private func unlockAndClose(_ descriptor: Int32) {
  // Closing is not enough: a child process that has been forked, but not yet replaced, has the descriptor as well.
  _ = flock(descriptor, LOCK_UN)
  close(descriptor)
}
