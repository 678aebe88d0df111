import Foundation
import FutureTree

/// A body that is being written to a file. Until it is complete, the file has a temporary name, and is locked.
///
/// A process that is killed leaves the temporary file behind, but not its lock. The next body in the directory removes it. The lock
/// shows whether a file has an owner: the number of a process is used again, and containers that share a volume have the same
/// numbers.
///
/// It is used by one thread at a time: it belongs to one `ResponseReceiver`, which cannot be copied, or to one `PartialFile`.
package final class BodyFile: @unchecked Sendable {  // Because: its owner has exclusive access.
  private let destination: URL
  private let temporary: String
  private var descriptor: Int32
  package private(set) var size: Int

  /// Creates the temporary file next to the destination, and removes files that processes which were killed have left there.
  ///
  /// - Throws: `HTTPError` with the code `unwritableBody`.
  package convenience init(for destination: URL) throws(HTTPError) {
    let folder = destination.deletingLastPathComponent()
    BodyFile.removeLeftovers(in: folder)
    while true {
      let file = folder.appendingPathComponent(BodyFile.nextName())
      let descriptor = open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
      guard descriptor >= 0 else {
        // The file belongs to a process with the same number, in another container. Try the next name.
        if errno == EEXIST { continue }
        throw BodyFile.refused("cannot be created", errno)
      }
      // Another process may have taken the file for a leftover before it was locked. A volume may have no locks: nothing is removed
      // from it.
      let isTaken = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
      if !isTaken, access(file.path, F_OK) == 0 {
        self.init(descriptor, temporary: file.path, for: destination)
        return
      }
      close(descriptor)
    }
  }

  /// Returns a file name that is unique in this process.
  private static func nextName() -> String {
    let number = lastNumber.withLock { number in
      number += 1
      return number
    }
    return "\(prefix)\(ProcessInfo.processInfo.processIdentifier)-\(number)\(suffix)"
  }

  private static let (prefix, suffix) = (".FutureTree-", ".partial")

  /// Returns whether a name can be that of a temporary file.
  private static func isTemporary(_ name: String) -> Bool {
    guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return false }
    let numbers = name.dropFirst(prefix.count).dropLast(suffix.count).split(
      separator: "-", omittingEmptySubsequences: false)
    return numbers.count == 2 && numbers.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(ASCII.isDigit) }
  }

  /// The number of names in a directory that are read at most, so that a body in a large directory begins soon.
  private static let maximumNameCount = 10_000

  /// Removes the temporary files in a directory that no process has locked.
  private static func removeLeftovers(in folder: URL) {
    guard let directory = opendir(folder.path) else { return }
    defer { closedir(directory) }
    for _ in 0..<maximumNameCount {
      guard let entry = readdir(directory) else { return }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { name in
        // Most names end here, without a string.
        name.starts(with: prefix.utf8) ? String(decoding: name.prefix { $0 != 0 }, as: UTF8.self) : ""
      }
      if isTemporary(name) { removeLeftover(folder.appendingPathComponent(name)) }
    }
  }

  private static func removeLeftover(_ file: URL) {
    let descriptor = open(file.path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      flock(descriptor, LOCK_EX | LOCK_NB) == 0, BodyFile.isNamed(descriptor, file)
    else { return }
    unlink(file.path)
  }

  private static let lastNumber = Locked(0)

  /// Whether an open file still has its name.
  package static func isNamed(_ descriptor: Int32, _ file: URL) -> Bool {
    var (opened, named) = (stat(), stat())
    return fstat(descriptor, &opened) == 0 && stat(file.path, &named) == 0 && opened.st_ino == named.st_ino
  }

  /// Creates a body file from an open descriptor, whose position is the end of the file.
  package init(_ descriptor: Int32, temporary: String, for destination: URL, size: Int = 0) {
    self.descriptor = descriptor
    self.size = size
    self.temporary = temporary
    self.destination = destination
  }

  /// Refuses a URL at which no file can be created, before the request is sent.
  static func check(_ destination: URL) throws(HTTPError) {
    guard destination.isFileURL else {
      throw HTTPError(
        .unwritableBody, "The file of the body cannot be created. Its URL is not a file URL. Use a file URL.")
    }
    guard !isDirectory(destination) else { throw refused("cannot be created", EISDIR) }
    guard isDirectory(destination.deletingLastPathComponent()) else {
      throw refused("cannot be created in a missing directory", ENOENT)
    }
  }

  private static func isDirectory(_ url: URL) -> Bool {
    var isDirectory: ObjCBool = false
    return FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory) && isDirectory.boolValue
  }

  package func append(_ data: Data) throws(HTTPError) { try write(data, at: size) }

  /// Writes bytes at a position, which can be after the end of the file.
  package func write(_ data: Data, at position: Int) throws(HTTPError) {
    let fault = data.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) -> Int32? in
      var rest = bytes[...]
      while !rest.isEmpty {
        let (start, offset) = (UnsafeRawBufferPointer(rebasing: rest).baseAddress, position + rest.startIndex)
        let count = pwrite(descriptor, start, rest.count, off_t(offset))
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return errno }
        rest = rest.dropFirst(count)
      }
      return nil
    }
    if let fault { throw BodyFile.refused("cannot be written", fault) }
    size = max(size, position + data.count)
  }

  /// Removes the bytes after a position.
  package func truncate(to position: Int) throws(HTTPError) {
    guard ftruncate(descriptor, off_t(position)) == 0, lseek(descriptor, 0, SEEK_END) == position else {
      throw BodyFile.refused("cannot be truncated", errno)
    }
    size = position
  }

  /// Renames the file to its final name. On another volume, a copy gets the name.
  package func commit() throws(HTTPError) {
    // Closing a duplicate reports the errors of delayed writes, and keeps the lock of the file until it has its name.
    let duplicate = dup(descriptor)
    guard duplicate >= 0, close(duplicate) == 0 else { throw discarding("cannot be written") }
    if rename(temporary, destination.path) == 0 { return closeDescriptor() }
    guard errno == EXDEV else { throw discarding("cannot be renamed to its final name") }
    try copy()
  }

  private func copy() throws(HTTPError) {
    defer { discard() }
    let (reader, copy) = (try OpenFile(URL(fileURLWithPath: temporary)).reader(), try BodyFile(for: destination))
    while true {
      let bytes = try HTTPBodyReader.naming { try reader.read(upTo: 1 << 20) }
      if bytes.isEmpty { return try copy.commit() }
      try copy.append(bytes)
    }
  }

  /// Removes the temporary file. Has no effect on a committed file.
  package func discard() {
    guard descriptor >= 0 else { return }
    unlink(temporary)
    closeDescriptor()
  }

  /// Closes the file, and leaves it under its temporary name.
  package func closeDescriptor() {
    close(descriptor)
    descriptor = -1
  }

  /// Discards the file after a system call has failed.
  private func discarding(_ fault: String) -> HTTPError {
    let error = BodyFile.refused(fault, errno)
    discard()
    return error
  }

  /// The message does not contain the path, which may be a secret.
  package static func refused(_ fault: String, _ number: Int32) -> HTTPError {
    HTTPError(
      .unwritableBody,
      "The file of the body \(fault) (\(String(cString: strerror(number)))). Check its directory and the free space.")
  }

  deinit {
    discard()
  }
}
