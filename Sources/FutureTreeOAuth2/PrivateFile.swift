import Foundation
import FutureTreeHTTP

/// A small file that only its user can read, written whole or not at all. It is made with the calls of POSIX: what
/// Foundation writes atomically may be read by others, and what it reads may be behind a symbolic link.
struct PrivateFile: Sendable {
  let url: URL
  let random: RandomSource

  /// How many bytes it may have.
  static let maximumSize = 1 << 20

  private var directory: URL { url.deletingLastPathComponent() }
  /// What the names begin with under which it is written.
  private var prefix: String { ".\(url.lastPathComponent).new-" }

  /// Its bytes; nil if there is no file.
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
    guard data.count <= PrivateFile.maximumSize else { throw PrivateFile.failed("is too large for a credential") }
    return data
  }

  /// Puts these bytes in its place.
  ///
  /// - Throws: `HTTPError` with the code `credentialStoreFailed`; then it is what it was.
  func write(_ data: Data) throws(HTTPError) {
    if try !hasSafeDirectory() { try makeDirectory() }
    let temporary = directory.appendingPathComponent(prefix + Base64URL.encoded(random.bytes(12))).path
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw PrivateFile.failed("cannot be created", errno) }
    do throws(HTTPError) {
      try PrivateFile.fill(descriptor, with: data)
      guard rename(temporary, url.path) == 0 else { throw PrivateFile.failed("cannot be put in its place", errno) }
    } catch {
      unlink(temporary)
      throw error
    }
    synchroniseDirectory()
  }

  /// Removes it, if it is there, with what was left of its writing. A symbolic link goes, and not what it leads to.
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
    // Whatever mask the process has.
    guard fchmod(descriptor, 0o600) == 0, (try? handle.write(contentsOf: data)) != nil, fsync(descriptor) == 0 else {
      throw failed("cannot be written", errno)
    }
  }

  private func makeDirectory() throws(HTTPError) {
    do {
      try FileManager.default.createDirectory(
        at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw PrivateFile.failed("has a directory that cannot be made")
    }
    guard try hasSafeDirectory() else { throw PrivateFile.failed("has no directory") }
  }

  /// Whether the directory is there.
  ///
  /// - Throws: if others could exchange what is in it.
  private func hasSafeDirectory() throws(HTTPError) -> Bool {
    var status = stat()
    guard lstat(directory.path, &status) == 0 else {
      if errno == ENOENT { return false }
      throw PrivateFile.failed("has a directory that cannot be read", errno)
    }
    guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
      throw PrivateFile.failed(
        "has a directory that is a symbolic link, belongs to another user, or may be written by others")
    }
    return true
  }

  private func check(_ descriptor: Int32) throws(HTTPError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw PrivateFile.failed("cannot be examined", errno) }
    guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
      throw PrivateFile.failed("is no plain file, belongs to another user, or may be read by others")
    }
  }

  /// So that the name is on the disk as well. Where the platform cannot do that, the file is written all the same.
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
      "The file of the credential \(fault)\(reason). Look at its path and permissions, or choose another.")
  }
}
