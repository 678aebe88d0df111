import Foundation

/// A small file that only its user can read, with atomic writes. It uses POSIX calls: other users may be able to read
/// files that Foundation writes atomically, and Foundation follows symbolic links when it reads.
///
/// Its errors have the code and the name of its owner, and no path, which may be a secret.
package struct PrivateFile: Sendable {
  /// The faults of a simulated disk, if there is one.
  @TaskLocal package static var faults: Faults?

  /// The faults of a simulated disk.
  package final class Faults: Sendable {
    fileprivate let error: @Sendable (_ isWrite: Bool) -> Int32?

    /// - Parameter error: Returns the error that the disk has now, as an `errno`, or `nil`.
    package init(_ error: @escaping @Sendable (_ isWrite: Bool) -> Int32?) {
      self.error = error
    }
  }

  private let url: URL
  private let name: String
  private let code: HTTPError.Code
  private let maximumSize: Int
  private let random: RandomSource

  /// - Parameters:
  ///   - name: The name of the file in errors.
  ///   - code: The code of errors.
  ///   - maximumSize: The maximum size of a file that is read, in bytes.
  ///   - random: The source of the names of temporary files.
  package init(
    _ url: URL, name: String, code: HTTPError.Code, maximumSize: Int = 1 << 20, random: RandomSource = .system
  ) {
    self.url = url
    self.name = name
    self.code = code
    self.maximumSize = maximumSize
    self.random = random
  }

  private var directory: URL { url.deletingLastPathComponent() }
  /// The prefix of the names of temporary files.
  private var prefix: String { ".\(url.lastPathComponent).new-" }

  /// Reads the file. Returns `nil` if there is no file.
  package func read() throws(HTTPError) -> Data? {
    guard try hasSafeDirectory() else { return nil }
    if let number = PrivateFile.faults?.error(false) { throw failed("cannot be read", number) }
    let descriptor = open(url.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw failed("cannot be opened, or is a symbolic link", errno)
    }
    let handle = FileHandle(fileDescriptor: descriptor)
    defer { try? handle.close() }
    try check(descriptor)
    let data: Data
    do {
      data = try handle.read(upToCount: maximumSize + 1) ?? Data()
    } catch {
      throw failed("cannot be read")
    }
    guard data.count <= maximumSize else { throw failed("is too large") }
    return data
  }

  /// Replaces the content of the file.
  ///
  /// - Parameter crashingAfter: The number of bytes after which a test simulates a crash: the file is not replaced.
  /// - Throws: `HTTPError`. The file is unchanged in that case.
  package func write(_ data: Data, crashingAfter limit: Int = .max) throws(HTTPError) {
    if try !hasSafeDirectory() { try makeDirectory() }
    if let number = PrivateFile.faults?.error(true) { throw failed("cannot be written", number) }
    let temporary = directory.appendingPathComponent(prefix + ASCII.hexadecimal(random.bytes(12))).path
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failed("cannot be created", errno) }
    do throws(HTTPError) {
      try fill(descriptor, with: data.prefix(limit))
      guard data.count <= limit else { return }
      guard rename(temporary, url.path) == 0 else {
        throw failed("cannot be renamed to its final name", errno)
      }
    } catch {
      unlink(temporary)
      throw error
    }
    synchronizeDirectory()
  }

  /// Opens the file, creates it if it is missing, and locks it. The lock ends with the result or with the process.
  ///
  /// - Parameter needsLocks: Whether a volume without locks is an error. Defaults to `true`.
  /// - Returns: `nil` if it is locked, also if this process has locked it, and on a volume without locks.
  package func lock(needsLocks: Bool = true) throws(HTTPError) -> Lock? {
    if try !hasSafeDirectory() { try makeDirectory() }
    while true {
      let descriptor = open(url.path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
      guard descriptor >= 0 else { throw failed("cannot be opened, or is a symbolic link", errno) }
      let lock = Lock(descriptor)
      try check(descriptor)
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        if errno == EWOULDBLOCK || !needsLocks { return nil }
        throw failed("cannot be locked", errno)
      }
      if BodyFile.isNamed(descriptor, url) { return lock }  // Otherwise its owner has removed it in between.
    }
  }

  /// A locked file, until this object is deallocated.
  package final class Lock: Sendable {
    /// The open file, for reading and writing.
    package let descriptor: Int32

    fileprivate init(_ descriptor: Int32) {
      self.descriptor = descriptor
    }

    deinit {
      // Closing is not enough: a child process that has been forked, but not yet replaced, has the descriptor as well.
      _ = flock(descriptor, LOCK_UN)
      close(descriptor)
    }
  }

  /// Removes the file, if it exists, and its temporary files. A symbolic link is removed, but not its target.
  package func remove() throws(HTTPError) {
    try unlinkFile()
    for name in (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    where name.hasPrefix(prefix) {
      unlink(directory.appendingPathComponent(name).path)
    }
    synchronizeDirectory()
  }

  /// Removes the file, if it exists, without its temporary files.
  package func unlinkFile() throws(HTTPError) {
    guard unlink(url.path) == 0 || errno == ENOENT || errno == ENOTDIR else {
      throw failed("cannot be removed", errno)
    }
  }

  private func fill(_ descriptor: Int32, with data: Data) throws(HTTPError) {
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
      throw failed("has a directory that cannot be created")
    }
    guard try hasSafeDirectory() else { throw failed("has no directory") }
  }

  /// Returns whether the directory exists.
  ///
  /// - Throws: `HTTPError` if other users could replace files in it.
  private func hasSafeDirectory() throws(HTTPError) -> Bool {
    var status = stat()
    guard lstat(directory.path, &status) == 0 else {
      if errno == ENOENT { return false }
      throw failed("has a directory that cannot be read", errno)
    }
    guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
      throw failed(
        "has an unsafe directory: a symbolic link, or one that another user owns or can write to")
    }
    return true
  }

  private func check(_ descriptor: Int32) throws(HTTPError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failed("cannot be examined", errno) }
    guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
      throw failed("is not safe: it is not a regular file, or another user owns it or can read it")
    }
  }

  /// Synchronizes the directory, so that the name of the file is on disk as well. Platforms that cannot do this are
  /// ignored.
  private func synchronizeDirectory() {
    let descriptor = open(directory.path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }

  package func failed(_ fault: String, _ number: Int32 = 0) -> HTTPError {
    let reason = number == 0 ? "" : " (\(String(cString: strerror(number))))"
    return HTTPError(
      code, "The \(name) \(fault)\(reason). Check its path and permissions, or use another file.")
  }
}
