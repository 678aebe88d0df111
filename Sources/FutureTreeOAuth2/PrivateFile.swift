import Foundation
import FutureTreeHTTP

/// A small file that only its user can read, with atomic writes. It uses POSIX calls: other users may be able to read
/// files that Foundation writes atomically, and Foundation follows symbolic links when it reads.
struct PrivateFile: Sendable {
  let url: URL
  let random: RandomSource

  /// The maximum size of the file in bytes.
  static let maximumSize = 1 << 20

  private var directory: URL { url.deletingLastPathComponent() }
  /// The prefix of the names of temporary files.
  private var prefix: String { ".\(url.lastPathComponent).new-" }

  /// Reads the file. Returns `nil` if there is no file.
  ///
  /// - Throws: `HTTPError` with the code `credentialStoreFailed`.
  func read() throws(HTTPError) -> Data? {
    guard try hasSafeDirectory() else { return nil }
    let descriptor = open(url.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw PrivateFile.failed("cannot be opened, or is a symbolic link", errno)
    }
    let handle = FileHandle(fileDescriptor: descriptor)
    defer { try? handle.close() }
    try check(descriptor)
    let data: Data
    do {
      data = try handle.read(upToCount: PrivateFile.maximumSize + 1) ?? Data()
    } catch {
      throw PrivateFile.failed("cannot be read")
    }
    guard data.count <= PrivateFile.maximumSize else { throw PrivateFile.failed("is too large") }
    return data
  }

  /// Replaces the content of the file.
  ///
  /// - Throws: `HTTPError` with the code `credentialStoreFailed`. The file is unchanged in that case.
  func write(_ data: Data) throws(HTTPError) {
    if try !hasSafeDirectory() { try makeDirectory() }
    let temporary = directory.appendingPathComponent(prefix + Base64URL.encoded(random.bytes(12))).path
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw PrivateFile.failed("cannot be created", errno) }
    do throws(HTTPError) {
      try PrivateFile.fill(descriptor, with: data)
      guard rename(temporary, url.path) == 0 else {
        throw PrivateFile.failed("cannot be renamed to its final name", errno)
      }
    } catch {
      unlink(temporary)
      throw error
    }
    synchroniseDirectory()
  }

  /// Removes the file, if it exists, and its temporary files. A symbolic link is removed, but not its target.
  ///
  /// - Throws: `HTTPError` with the code `credentialStoreFailed`.
  func remove() throws(HTTPError) {
    guard unlink(url.path) == 0 || errno == ENOENT || errno == ENOTDIR else {
      throw PrivateFile.failed("cannot be removed", errno)
    }
    for name in (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    where name.hasPrefix(prefix) {
      unlink(directory.appendingPathComponent(name).path)
    }
    synchroniseDirectory()
  }

  private static func fill(_ descriptor: Int32, with data: Data) throws(HTTPError) {
    let handle = FileHandle(fileDescriptor: descriptor)
    defer { try? handle.close() }
    // The permissions are set explicitly, because the process may have any file mode mask.
    guard fchmod(descriptor, 0o600) == 0, (try? handle.write(contentsOf: data)) != nil, fsync(descriptor) == 0 else {
      throw failed("cannot be written", errno)
    }
  }

  private func makeDirectory() throws(HTTPError) {
    do {
      try FileManager.default.createDirectory(
        at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw PrivateFile.failed("has a directory that cannot be created")
    }
    guard try hasSafeDirectory() else { throw PrivateFile.failed("has no directory") }
  }

  /// Returns whether the directory exists.
  ///
  /// - Throws: `HTTPError` if other users could replace files in it.
  private func hasSafeDirectory() throws(HTTPError) -> Bool {
    var status = stat()
    guard lstat(directory.path, &status) == 0 else {
      if errno == ENOENT { return false }
      throw PrivateFile.failed("has a directory that cannot be read", errno)
    }
    guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
      throw PrivateFile.failed(
        "has an unsafe directory: a symbolic link, or one that another user owns or can write to")
    }
    return true
  }

  private func check(_ descriptor: Int32) throws(HTTPError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw PrivateFile.failed("cannot be examined", errno) }
    guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
      throw PrivateFile.failed("is not safe: it is not a regular file, or another user owns it or can read it")
    }
  }

  /// Synchronizes the directory, so that the name of the file is on disk as well. Platforms that cannot do this are
  /// ignored.
  private func synchroniseDirectory() {
    let descriptor = open(directory.path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }

  static func failed(_ fault: String, _ code: Int32 = 0) -> HTTPError {
    let reason = code == 0 ? "" : " (\(String(cString: strerror(code))))"
    return HTTPError(
      .credentialStoreFailed,
      "The credential file \(fault)\(reason). Check its path and permissions, or use another file.")
  }
}
